/**
 * `node tools/test-files.mjs <file with options>`: runs jobs, each a list of test files that share
 * a process, in the order in which they are given. `node --test` would sort them by name.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { run } from 'node:test'
import { pathToFileURL } from 'node:url'
import { report } from './reporter.mjs'
import { EVENT_PATTERN } from './run/file-events.mjs'
import { root } from './run/script.mjs'

/** A test's server lives for some milliseconds: with more room it dies before it is moved. */
const HEAP = ['--min-semi-space-size=16', '--max-semi-space-size=64']

const { jobs, names, concurrency, timeoutMs, style, folder, countsFile } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
)
const entries = new Map(jobs.map((files, at) => [writeEntry(files, at), files]))

run({
  files: [...entries.keys()],
  testNamePatterns: names.length === 0 ? undefined : [...names, EVENT_PATTERN],
  concurrency,
  timeout: timeoutMs,
  execArgv: HEAP,
})
  .compose((events) => report(events, { entries, style, isFiltered: names.length > 0, countsFile }))
  .pipe(process.stdout)

/** The runner starts a process for each file: one that runs the files of the job. */
function writeEntry(files, at) {
  const entry = path.join(folder, `job-${at}.mjs`)
  const module = pathToFileURL(path.join(root, 'tools/test-process.mjs')).href
  writeFileSync(entry, `import ${JSON.stringify(module)}\n`)
  writeFileSync(`${entry}.json`, JSON.stringify(files))
  return entry
}
