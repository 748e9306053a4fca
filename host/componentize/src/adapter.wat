;; wasi_snapshot_preview1 for plugins. Lines printed to stdout and stderr go to the plugin's log. Time starts at 2026-01-01 and
;; advances with each look at the clock and each wait; waits end immediately. Random numbers are a fixed stream. There are no
;; arguments, variables or files. A component with this adapter imports no WASI.
(module
  (import "env" "memory" (memory 0))
  (import "pivot:provider/log@0.1.0" "write" (func $log (param $level i32) (param $text i32) (param $length i32)))
  ;; An adapter has no memory, so the unfinished line is in the first KB of the plugin's, which toolchains leave unused.
  (global $line i32 (i32.const 16))
  (global $longest i32 (i32.const 1000))
  (global $length (mut i32) (i32.const 0))
  (global $now (mut i64) (i64.const 1767225600000000000))
  (global $random (mut i64) (i64.const 0x9e3779b97f4a7c15))

  (func $write_line
    (if (global.get $length)
      (then (call $log (i32.const 1 (; warn ;)) (global.get $line) (global.get $length))))
    (global.set $length (i32.const 0)))

  (func $add_byte (param $byte i32)
    (if (i32.eq (local.get $byte) (i32.const 10))
      (then (call $write_line))
      (else
        (if (i32.eq (global.get $length) (global.get $longest)) (then (call $write_line)))
        (i32.store8 (i32.add (global.get $line) (global.get $length)) (local.get $byte))
        (global.set $length (i32.add (global.get $length) (i32.const 1))))))

  (func (export "fd_write") (param $file i32) (param $parts i32) (param $count i32) (param $written i32) (result i32)
    (local $sum i32) (local $from i32) (local $end i32)
    (if (i32.gt_u (i32.sub (local.get $file) (i32.const 1)) (i32.const 1)) (then (return (i32.const 8 (; badf ;)))))
    (block $done
      (loop $part
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $from (i32.load (local.get $parts)))
        (local.set $end (i32.add (local.get $from) (i32.load offset=4 (local.get $parts))))
        (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $parts))))
        (block $next
          (loop $byte
            (br_if $next (i32.eq (local.get $from) (local.get $end)))
            (call $add_byte (i32.load8_u (local.get $from)))
            (local.set $from (i32.add (local.get $from) (i32.const 1)))
            (br $byte)))
        (local.set $parts (i32.add (local.get $parts) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $part)))
    (i32.store (local.get $written) (local.get $sum))
    (i32.const 0))

  (func (export "proc_exit") (param $code i32)
    (call $write_line)
    unreachable)

  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $time i32) (result i32)
    (global.set $now (i64.add (global.get $now) (i64.const 1000)))
    (i64.store (local.get $time) (global.get $now))
    (i32.const 0))
  (func (export "clock_res_get") (param $clock i32) (param $resolution i32) (result i32)
    (i64.store (local.get $resolution) (i64.const 1000))
    (i32.const 0))

  ;; The first subscription happens. If it waits for a time, that passes.
  (func (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $happened i32) (result i32)
    (if (i32.eqz (i32.load8_u offset=8 (local.get $in)))
      (then
        (if (i32.and (i32.load16_u offset=40 (local.get $in)) (i32.const 1 (; absolute ;)))
          (then
            (if (i64.gt_u (i64.load offset=24 (local.get $in)) (global.get $now))
              (then (global.set $now (i64.load offset=24 (local.get $in))))))
          (else (global.set $now (i64.add (global.get $now) (i64.load offset=24 (local.get $in))))))))
    (i64.store (local.get $out) (i64.load (local.get $in)))
    (i32.store16 offset=8 (local.get $out) (i32.const 0))
    (i32.store8 offset=10 (local.get $out) (i32.load8_u offset=8 (local.get $in)))
    (i64.store offset=16 (local.get $out) (i64.const 0))
    (i64.store offset=24 (local.get $out) (i64.const 0))
    (i32.store (local.get $happened) (i32.const 1))
    (i32.const 0))

  (func (export "random_get") (param $to i32) (param $length i32) (result i32)
    (block $done
      (loop $byte
        (br_if $done (i32.eqz (local.get $length)))
        (global.set $random (i64.xor (global.get $random) (i64.shl (global.get $random) (i64.const 13))))
        (global.set $random (i64.xor (global.get $random) (i64.shr_u (global.get $random) (i64.const 7))))
        (global.set $random (i64.xor (global.get $random) (i64.shl (global.get $random) (i64.const 17))))
        (i64.store8 (local.get $to) (global.get $random))
        (local.set $to (i32.add (local.get $to) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $byte)))
    (i32.const 0))

  (func $set_zeros (param $one i32) (param $other i32) (result i32)
    (i32.store (local.get $one) (i32.const 0))
    (i32.store (local.get $other) (i32.const 0))
    (i32.const 0))
  (func (export "args_sizes_get") (param i32 i32) (result i32) (call $set_zeros (local.get 0) (local.get 1)))
  (func (export "environ_sizes_get") (param i32 i32) (result i32) (call $set_zeros (local.get 0) (local.get 1)))
  (func (export "args_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "environ_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "sched_yield") (result i32) (i32.const 0))
  (func (export "adapter_monotonic_clock_set_paused") (param i32))

  ;; Files: stdin is empty, stdout and stderr are terminals, and nothing else is open (badf, 8) or can be sought (spipe, 29).
  (func (export "fd_read") (param i32 i32 i32 i32) (result i32) (i32.store (local.get 3) (i32.const 0)) (i32.const 0))
  (func (export "fd_fdstat_get") (param $file i32) (param $to i32) (result i32)
    (if (i32.gt_u (local.get $file) (i32.const 2)) (then (return (i32.const 8))))
    (i64.store (local.get $to) (i64.const 2))
    (i64.store offset=8 (local.get $to) (i64.const -1))
    (i64.store offset=16 (local.get $to) (i64.const 0))
    (i32.const 0))
  (func (export "fd_fdstat_set_flags") (param i32 i32) (result i32) (i32.const 0))
  (func (export "fd_close") (param i32) (result i32) (i32.const 0))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 29))
  (func (export "fd_filestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 8))
  (func (export "fd_pread") (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_pwrite") (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_sync") (param i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 8))
  (func (export "path_readlink") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) (i32.const 8)))
