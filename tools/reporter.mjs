// tidy-allow default-export: the test runner loads a reporter's default export
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const HEARTBEAT_MS = 15_000
const DOTS_PER_LINE = 80
/** What is kept of a file's own output until it is known whether the file fails. */
const OUTPUT_CHARS_MAX = 64 * 1024

/**
 * Reports a run of `node --test`: a line (or, with REEVE_TEST_STYLE=dots, a dot) per file as it
 * ends, failures in full at once, and a file's own output only when it failed. The counts go to the
 * file that REEVE_TEST_COUNTS names, as JSON, with those of each file that failed.
 */
// oxlint-disable-next-line import/no-default-export -- see the first line
export default async function* report(events) {
  const run = { totals: emptyCounts(), failedFiles: [], running: new Map(), ended: 0 }
  const heartbeat = setInterval(() => process.stdout.write(formatRunning(run)), HEARTBEAT_MS)
  // Files that share this process are over when nothing keeps it alive.
  heartbeat.unref()
  // Completions come as they happen; passes and failures in the order of the sources, which would
  // hold back what is known about a fast file until a slow one before it has ended.
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') keepOutput(run, data)
    else if (type === 'test:dequeue') noteStart(run, data)
    else if (type === 'test:complete') yield isFile(data) ? endFile(run, data) : endTest(run, data)
  }
  clearInterval(heartbeat)
  if (usesDots() && run.ended % DOTS_PER_LINE !== 0) yield '\n'
  const target = process.env.REEVE_TEST_COUNTS
  const failedFiles = sharesProcess() ? failedAmong(run) : run.failedFiles
  if (target !== undefined) writeFileSync(target, JSON.stringify({ ...run.totals, failedFiles }))
}

/** Of files that share this process, nobody says when one has ended. */
function failedAmong({ running }) {
  return [...running]
    .filter(([, { counts }]) => counts.failed > 0)
    .map(([file, { counts }]) => ({ file: path.relative(root, file), ...counts }))
}

function emptyCounts() {
  return { passed: 0, failed: 0, skipped: 0 }
}

function usesDots() {
  return process.env.REEVE_TEST_STYLE === 'dots'
}

/** The runner wraps each file in a test of its own; not when files share a process. */
function isFile(data) {
  return !sharesProcess() && data.entryFile === undefined && data.nesting === 0
}

function sharesProcess() {
  return process.env.REEVE_TEST_SHARED === '1'
}

function fileOf(run, file) {
  const known = run.running.get(file)
  if (known !== undefined) return known
  const fresh = { counts: emptyCounts(), output: '', names: new Map() }
  run.running.set(file, fresh)
  return fresh
}

function keepOutput(run, { file, entryFile, message }) {
  const entry = fileOf(run, entryFile ?? file)
  entry.output = (entry.output + message).slice(-OUTPUT_CHARS_MAX)
}

function noteStart(run, data) {
  const entry = fileOf(run, data.entryFile ?? data.file)
  if (isFile(data)) return
  const above = entry.names.get(data.parentId)
  entry.names.set(data.testId, above === undefined ? data.name : `${above} › ${data.name}`)
}

/** Counts the test; the text to print is empty unless it failed. */
function endTest(run, data) {
  const entry = fileOf(run, data.entryFile ?? data.file)
  const { type, error } = data.details
  const isInside = error?.failureType === 'subtestsFailed'
  // A suite is no test; it counts only when it fails by itself, for instance in a hook.
  if (type === 'suite' && (error === undefined || isInside)) return ''
  const outcome = outcomeOf(data)
  entry.counts[outcome] += 1
  run.totals[outcome] += 1
  if (outcome !== 'failed' || isInside) return ''
  return formatFailure(data, entry.names.get(data.testId) ?? data.name)
}

function outcomeOf({ skip, todo, details }) {
  if (skip !== undefined || todo !== undefined) return 'skipped'
  return details.error === undefined ? 'passed' : 'failed'
}

/** A file that fails without a failed test did not load, or failed after its tests. */
function endFile(run, data) {
  const { counts, output } = fileOf(run, data.file)
  run.running.delete(data.file)
  run.ended += 1
  const { error, duration_ms: durationMs } = data.details
  const failedItself = error !== undefined && counts.failed === 0
  if (failedItself) run.totals.failed += 1
  const failure = failedItself ? formatFailure(data, 'the file itself') : ''
  const isFailed = failedItself || counts.failed > 0
  if (isFailed) {
    const failed = counts.failed + (failedItself ? 1 : 0)
    run.failedFiles.push({ file: path.relative(root, data.file), ...counts, failed })
  }
  const printed = isFailed && output !== '' ? `  output of the file:\n${indent(output)}\n` : ''
  return failure + printed + formatEnd(run, { file: data.file, counts, isFailed, durationMs })
}

function formatEnd(run, { file, counts, isFailed, durationMs }) {
  if (usesDots()) return dot(run, isFailed)
  const count = counts.passed + counts.failed + counts.skipped
  if (count === 0 && !isFailed) return ''
  const tests = `${count} ${count === 1 ? 'test' : 'tests'}`
  return `${isFailed ? '✗' : '✓'} ${path.relative(root, file)}  ${tests}, ${seconds(durationMs)}\n`
}

function dot(run, isFailed) {
  return (isFailed ? '✗' : '.') + (run.ended % DOTS_PER_LINE === 0 ? '\n' : '')
}

function formatFailure({ file, line, column, details }, name) {
  const cause = details.error.cause ?? details.error
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause)
  return `\n✗ ${name}\n  ${path.relative(root, file)}:${line}:${column}\n${indent(text)}\n\n`
}

/** Said at intervals, so that a long run is seen to be alive. */
function formatRunning({ running, totals }) {
  const files = [...running.keys()].map((file) => path.relative(root, file))
  if (files.length === 0) return ''
  // Nobody says that a file in a shared process has ended; the latest to begin is running.
  const shown = sharesProcess() ? files.slice(-1) : files
  return `… ${totals.passed} passed so far; running ${shown.join(', ')}\n`
}

function indent(text) {
  return text.trimEnd().replaceAll(/^/gm, '    ')
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}
