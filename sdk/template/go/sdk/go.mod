module pivot-host.io/sdk

go 1.25

require go.bytecodealliance.org/pkg v0.2.3
