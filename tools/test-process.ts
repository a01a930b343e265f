/**
 * Runs test files in this process, one after the other: those that the JSON beside the entry module
 * lists. `node --test` with one process for all files reports a file as passed when it throws on
 * import after its first test or has no test, and never exits when a failed test left a server or a
 * timer behind.
 */
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { beginEventName, endEventName, FileTimes, leakEventName } from './test/test-files.ts'
import { root } from './test/script.ts'

/** A connection that is being closed needs a moment; anything open after this time is a leak. */
const EXIT_MS_MAX = Number(process.env['REEVE_TEST_EXIT_MS'] ?? 10_000)
/** The hooks of the files, which may stop programs, get this long after the last test. */
const HOOKS_MS_MAX = 60_000
/** The longest interval that a timer can have. */
const NEVER_MS = 2 ** 31 - 1

const entry = process.argv[1] ?? ''
await runFiles(JSON.parse(readFileSync(`${entry}.json`, 'utf8')))

/**
 * Runs the files, given by their paths from the root of the repository. The process exits when
 * nothing keeps it alive, at the latest EXIT_MS_MAX after the last test and its hooks.
 */
async function runFiles(files: readonly string[]): Promise<void> {
  // While a file is imported, nothing else may keep the process alive.
  const keepAlive = setInterval(() => {}, NEVER_MS)
  let failure: { readonly error: unknown } | undefined
  for (const event of ['uncaughtException', 'unhandledRejection'])
    process.on(event, (error) => {
      failure ??= { error }
      // After the last test the runner does not report it.
      console.error(error)
      process.exitCode = 1
    })
  const times = new FileTimes(entry)
  const samples = [sampleResources(keepAlive)]
  const hooksEnded = Promise.withResolvers<void>()
  const exitAfter = (delayMs: number): void => {
    setTimeout(() => void exit(files, [...samples, sampleResources()]), delayMs).unref()
  }
  for (const file of files) {
    failure = undefined
    // As long as this test runs, those of the file wait: they may use what it declares below them.
    const imported = Promise.withResolvers<void>()
    void test(beginEventName(file), () => imported.promise)
    try {
      await import(pathToFileURL(path.join(root, file)).href)
    } catch (error) {
      failure = { error }
    }
    // Hooks run in the order of their registration, after the last test.
    if (file === files.at(-1)) after(() => hooksEnded.resolve())
    imported.resolve()
    // Tests run in the order of their registration, so this one ends after all of the file.
    await test(endEventName(file), () => {
      if (failure !== undefined) throw failure.error
    })
    times.note(file)
    samples.push(sampleResources(keepAlive))
  }
  // Not in the hook itself: a test that is registered from there would belong to it.
  void hooksEnded.promise.then(() => exitAfter(EXIT_MS_MAX))
  // A hook that fails or hangs keeps the ones after it from running.
  exitAfter(HOOKS_MS_MAX)
  clearInterval(keepAlive)
}

async function exit(files: readonly string[], samples: readonly Sample[]): Promise<void> {
  for (const { file, types } of findLeaks(files, samples))
    await test(leakEventName(file, types), () => {})
  // The runner's stream of events needs a turn to write the last one.
  await new Promise(setImmediate)
  process.exit()
}

/** Types of resources, each as often as there are some. */
type Sample = readonly string[]

/** The types of the resources that keep the process alive, other than the given timer. */
function sampleResources(timer?: NodeJS.Timeout): Sample {
  timer?.unref()
  const types = process.getActiveResourcesInfo()
  timer?.ref()
  return types
}

interface Leak {
  readonly file: string
  readonly types: string[]
}

/**
 * Which file left resources open. The first sample is from before the first file, then there is
 * one after each file, and a last one. A resource was left by a file when there are more of its
 * type after the file than before it, in all later samples too: what is gone later was closing.
 */
function findLeaks(files: readonly string[], samples: readonly Sample[]): readonly Leak[] {
  const last = samples.at(-1) ?? []
  const leaks = files.map((file): Leak => ({ file, types: [] }))
  for (const type of new Set(last)) {
    const counts = samples.map((types) => types.filter((one) => one === type).length)
    const lasting = counts.map((_, at) => Math.min(...counts.slice(at)))
    for (const [at, leak] of leaks.entries())
      if ((lasting[at + 1] ?? 0) > (lasting[at] ?? 0)) leak.types.push(type)
  }
  const found = leaks.filter(({ types }) => types.length > 0)
  return found.length > 0 ? found : [{ file: '', types: [...new Set(last)] }]
}
