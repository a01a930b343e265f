/**
 * `node tools/test-files.mjs <options as JSON>`: test files with a process each, in the order
 * in which they are given. `node --test` would run them in the order of their names.
 */
import { run } from 'node:test'
import report from './reporter.mjs'

run(JSON.parse(process.argv[2] ?? '{}'))
  .on('test:fail', ({ todo }) => {
    if (todo === undefined) process.exitCode = 1
  })
  .compose(report)
  .pipe(process.stdout)
