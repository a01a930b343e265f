import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { inspect } from 'node:util'
import { readEvent } from './run/file-events.mjs'
import { readFileTimes } from './run/file-times.mjs'
import { root } from './run/script.mjs'

const HEARTBEAT_MS = 15_000
const DOTS_PER_LINE = 80
/** What is kept of a process's own output until it is known whether a file in it fails. */
const OUTPUT_CHARS_MAX = 64 * 1024

/**
 * Reports a run: a line (with the style `dots`, a dot) per file as it ends, failures in full at
 * once, and the output of a process only when a file in it failed. The counts go to `countsFile` as
 * JSON, with those of each file that failed and the times of each file.
 *
 * `entries` maps the entry module of each process to the files that it imports in turn; with
 * `isFiltered` only some tests are run, so that a file may have none.
 */
export async function* report(events, { entries, style, isFiltered, countsFile }) {
  const run = {
    usesDots: style === 'dots',
    isFiltered,
    jobs: new Map([...entries].map(([entry, files]) => [entry, aJob(files)])),
    totals: emptyCounts(),
    failedFiles: [],
    times: [],
    ended: 0,
  }
  const heartbeat = setInterval(() => process.stdout.write(formatRunning(run)), HEARTBEAT_MS)
  // Completions come as they happen; passes and failures in the order of the sources, which would
  // hold back what is known about a fast file until a slow one before it has ended.
  for await (const { type, data } of events) {
    const job = run.jobs.get(data.entryFile ?? data.file)
    if (job === undefined) continue
    if (type === 'test:stdout' || type === 'test:stderr') keepOutput(job, data)
    else if (type === 'test:dequeue') noteStart(job, data)
    else if (type === 'test:complete') yield noteEnd(run, job, data)
  }
  clearInterval(heartbeat)
  if (run.usesDots && run.ended % DOTS_PER_LINE !== 0) yield '\n'
  const { totals, failedFiles } = run
  const times = measuredTimes(run.times, [...entries.keys()])
  writeFileSync(countsFile, JSON.stringify({ ...totals, failedFiles, times }))
}

/** As the processes have measured them; what a process that was killed took is known from here. */
function measuredTimes(times, entries) {
  const measured = Object.assign({}, ...entries.map(readFileTimes))
  return times.map((time) => ({ cpuMs: 0, ...time, ...measured[time.file] }))
}

function emptyCounts() {
  return { passed: 0, failed: 0, skipped: 0 }
}

/** A process: `file` is running, those of `left` come later. */
function aJob(files) {
  return { left: [...files], file: undefined, ended: [], output: '', isFailed: false }
}

function aFile(name) {
  return { name, startMs: performance.now(), counts: emptyCounts(), names: new Map() }
}

/** The runner wraps each process in a test of its own. */
function isProcess(data) {
  return data.entryFile === undefined && data.nesting === 0
}

function keepOutput(job, { message }) {
  job.output = (job.output + message).slice(-OUTPUT_CHARS_MAX)
}

function noteStart(job, data) {
  if (isProcess(data)) return
  const event = readEvent(data.name)
  if (event?.kind === 'begin') {
    job.left = job.left.filter((name) => name !== event.file)
    job.file = aFile(event.file)
  }
  if (event !== undefined || job.file === undefined) return
  const { names } = job.file
  const above = names.get(data.parentId)
  names.set(data.testId, above === undefined ? data.name : `${above} › ${data.name}`)
}

/** Returns the text to print. */
function noteEnd(run, job, data) {
  if (isProcess(data)) return endProcess(run, job, data)
  const event = readEvent(data.name)
  if (event === undefined) return job.file === undefined ? '' : endTest(run, job.file, data)
  if (event.kind === 'end') return endFile(run, job, data.details.error)
  return event.kind === 'leak' ? formatLeak(event) : ''
}

/** Counts the test; the text to print is empty unless it failed. */
function endTest(run, file, data) {
  const { type, error } = data.details
  const isInside = error?.failureType === 'subtestsFailed'
  // A suite is no test; it counts only when it fails by itself, for instance in a hook.
  if (type === 'suite' && (error === undefined || isInside)) return ''
  const outcome = outcomeOf(data)
  file.counts[outcome] += 1
  run.totals[outcome] += 1
  if (outcome !== 'failed' || isInside) return ''
  const place = `${path.relative(root, data.file)}:${data.line}:${data.column}`
  return formatFailure(file.names.get(data.testId) ?? data.name, place, error)
}

function outcomeOf({ skip, todo, details }) {
  if (skip !== undefined || todo !== undefined) return 'skipped'
  return details.error === undefined ? 'passed' : 'failed'
}

/** A file that fails without a failed test was not imported, failed later, or has no test. */
function endFile(run, job, error) {
  const { name, counts, startMs } = job.file
  job.file = undefined
  run.ended += 1
  const count = counts.passed + counts.failed + counts.skipped
  const isEmpty = count === 0 && !run.isFiltered
  const fault = error ?? (isEmpty ? 'The file registers no test.' : undefined)
  const failedItself = fault !== undefined && counts.failed === 0
  if (failedItself) {
    counts.failed += 1
    run.totals.failed += 1
  }
  job.ended.push({ file: name, counts })
  const isFailed = counts.failed > 0
  if (isFailed) {
    job.isFailed = true
    run.failedFiles.push({ file: name, ...counts })
  }
  const wallMs = performance.now() - startMs
  run.times.push({ file: name, wallMs })
  const failure = failedItself ? formatFailure('the file itself', name, fault) : ''
  if (run.usesDots) return failure + dot(run, isFailed)
  if (count === 0 && !isFailed) return failure
  const tests = `${count} ${count === 1 ? 'test' : 'tests'}`
  const took = `${(wallMs / 1000).toFixed(1)} s`
  return `${failure}${isFailed ? '✗' : '✓'} ${name}  ${tests}, ${took}\n`
}

/**
 * Files that the process did not come to have failed. A process that fails although none of its
 * files did, because of an error after the last test for instance, fails all of them: each is run
 * again by itself then, and the one at fault shows.
 */
function endProcess(run, job, { file: entry, details: { error } }) {
  run.jobs.delete(entry)
  const parts = []
  for (const name of job.file === undefined ? job.left : [job.file.name, ...job.left]) {
    if (job.file?.name !== name) job.file = aFile(name)
    parts.push(endFile(run, job, 'The process exited before the tests of the file had ended.'))
  }
  if (error !== undefined && !job.isFailed) {
    run.totals.failed += job.ended.length
    for (const { file, counts } of job.ended)
      run.failedFiles.push({ file, ...counts, failed: counts.failed + 1 })
    const files = job.ended.map(({ file }) => file).join(', ')
    parts.push(formatFailure('the process, after its last test', files, error))
    job.isFailed = true
  }
  if (job.isFailed && job.output !== '')
    parts.push(`  output of the process:\n${indent(job.output)}\n`)
  return parts.join('')
}

function dot(run, isFailed) {
  return (isFailed ? '✗' : '.') + (run.ended % DOTS_PER_LINE === 0 ? '\n' : '')
}

function formatFailure(name, place, error) {
  const cause = error.cause ?? error
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : cause
  const shown = typeof text === 'string' ? text : inspect(text)
  return `\n✗ ${name}\n  ${place}\n${indent(shown)}\n\n`
}

function formatLeak({ file, types }) {
  const name = file === '' ? 'Some test file' : file
  return `! ${name} left resources open (${types.join(', ')}); its process was ended.\n`
}

/** Said at intervals, so that a long run is seen to be alive. */
function formatRunning({ jobs, totals }) {
  const files = [...jobs.values()].flatMap(({ file }) => (file === undefined ? [] : [file.name]))
  if (files.length === 0) return ''
  return `… ${totals.passed} passed so far; running ${files.join(', ')}\n`
}

function indent(text) {
  return text.trimEnd().replaceAll(/^/gm, '    ')
}
