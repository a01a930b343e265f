import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { COMMANDS } from '../../src/cli/commands.ts'
import { LOCAL_COMMANDS } from '../../src/cli/completion/completion.ts'
import { commandLineAt, type CommandLineBench, type Ended } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from '../e2e/program-process.ts'
import { accessStory, bootstrapStory, ROOT_SECRET } from './every-command/access.ts'
import { clusterStory, placesStory } from './every-command/cluster.ts'
import { governanceStory } from './every-command/governance.ts'
import { jobStory, launchStory } from './every-command/jobs.ts'
import { ELSEWHERE, localStory } from './every-command/local.ts'
import type { Row, Story } from './every-command/story.ts'

/** As people have it on their path. */
const PROGRAM = fileURLToPath(new URL('../../../../bin/reeve', import.meta.url))

/** One line after the other; the lists of a line beside each other: two commands at a time. */
const ACTS: readonly (readonly (readonly Story[])[])[] = [
  [[bootstrapStory], [localStory]],
  [[jobStory, launchStory], [governanceStory]],
  [[clusterStory], [placesStory, accessStory]],
]
const ROWS = ACTS.flat(2).flatMap(({ rows }) => rows)

interface Place {
  readonly line: CommandLineBench
  readonly environment: Readonly<Record<string, string>>
}

test('every command does what it says', { timeout: 600_000 }, async (t) => {
  const directory = await temporaryDirectory(t)
  const flags = ['--acl', '--node-name', 'one']
  const { address, client } = await startProgram(t, join(directory, 'data'), flags)
  const line = commandLineAt({ address, client, directory })
  const environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: directory,
    REEVE_ADDR: address,
    REEVE_TOKEN: ROOT_SECRET,
  }
  for (const act of ACTS)
    await Promise.all(
      act.map(async (stories) => {
        for (const story of stories) await tellStory(t, story, { line, environment })
      }),
    )
})

async function tellStory(t: TestContext, story: Story, place: Place): Promise<void> {
  for (const [name, content] of Object.entries(story.files ?? {}))
    await writeFile(join(place.line.directory, name), content)
  const kept = new Map<string, string>()
  await t.test(story.name, async (inner) => {
    for (const row of story.rows)
      await inner.test(`reeve ${wordsOf(row).join(' ')}`, async () => {
        const words = wordsOf(row).map((word) => filledIn(word, kept))
        const look = async () =>
          isProgram(row) ? await runProgram(words, row, place) : await runHere(words, place)
        const isAsWanted = ({ out }: Ended) => row.says === undefined || row.says.test(out)
        const ended =
          row.isAwaited === true
            ? await until(words.join(' '), async () => {
                const found = await look()
                return isAsWanted(found) ? found : undefined
              })
            : await look()
        check(row, ended)
        for (const [name, pattern] of Object.entries(row.keeps ?? {})) {
          const [, value] = pattern.exec(ended.out + ended.err) ?? []
          assert.ok(value !== undefined, `no ${name} in: ${ended.out}${ended.err}`)
          kept.set(name, value)
        }
      })
  })
}

function wordsOf({ line }: Row): readonly string[] {
  return typeof line === 'string' ? line.split(' ') : line
}

function filledIn(word: string, kept: ReadonlyMap<string, string>): string {
  return word.replace(/^\{(\w+)\}$/, (_whole, name: string) => {
    const value = kept.get(name)
    assert.ok(value !== undefined, `no earlier row kept {${name}}`)
    return value
  })
}

function check({ says, warns, code = 0 }: Row, ended: Ended): void {
  const written = `${ended.out}\n---\n${ended.err}`
  assert.equal(ended.code, code, written)
  if (says !== undefined) assert.match(ended.out, says, written)
  if (warns === undefined) assert.equal(ended.err, '', written)
  else assert.match(ended.err, warns, written)
}

/** The first row of each group of commands. */
const FIRST = new Map(ROWS.toReversed().map((row) => [wordsOf(row)[0], row]))

/**
 * A process takes as long as ten commands, and differs from a command in this process by its
 * directory, its exit code, its pipes and its signals: rows about those, and one of each group of
 * commands, have one.
 */
function isProgram(row: Row): boolean {
  if (localStory.rows.includes(row)) return true
  const { code = 0, input, leavesAt, environment } = row
  const needsProcess = code !== 0 || [input, leavesAt, environment].some((one) => one !== undefined)
  return needsProcess || FIRST.get(wordsOf(row)[0]) === row
}

async function runHere(words: readonly string[], place: Place): Promise<Ended> {
  return await place.line.run(words, { environment: place.environment })
}

async function runProgram(words: readonly string[], row: Row, place: Place): Promise<Ended> {
  const env = { ...place.environment, ...row.environment }
  const child = spawn(PROGRAM, words, { cwd: place.line.directory, env, stdio: 'pipe' })
  child.stdin.on('error', () => undefined).end(row.input ?? '')
  let seen = ''
  let isLeft = false
  child.stdout.on('data', (chunk: Buffer) => {
    seen += chunk.toString('utf8')
    if (isLeft || row.leavesAt?.test(seen) !== true) return
    // Once: a second one ends it at once.
    isLeft = true
    child.kill('SIGINT')
  })
  const [out, err, [code]] = await Promise.all([
    readText(child.stdout),
    readText(child.stderr),
    once(child, 'close'),
  ])
  return { code, out, err }
}

test('every command is in a row', () => {
  const begun = (path: string) =>
    ROWS.some((row) => `${wordsOf(row).join(' ')} `.startsWith(`${path} `))
  const paths = [...COMMANDS, ...LOCAL_COMMANDS].map(({ path }) => path)
  const missing = paths.filter((path) => !begun(path) && ELSEWHERE[path] === undefined)
  assert.deepEqual(missing, [])
})

test('every row says what comes of it', () => {
  const silent = ROWS.filter(
    ({ says, warns, leavesAt }) => (says ?? warns ?? leavesAt) === undefined,
  )
  assert.deepEqual(silent.map(wordsOf), [])
})
