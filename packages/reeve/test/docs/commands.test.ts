import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { withGlobalFlags } from '../../src/cli/global-flags.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { LOCAL_COMMANDS } from '../../src/cli/completion/completion.ts'
import { expandRunShorthand } from '../../src/cli/registry.ts'

const ROOT = join(import.meta.dirname, '../../../..')
/** Shown as a mistake. */
const MISTAKES: readonly string[] = ['job runn web.hcl']

/** A plug-in, a group, the command that a run's own task is, and the text that checks a key. */
const INTERNAL: readonly string[] = ['cost report', 'operator storage …', 'run-phase', 'key check']

/** Pages for users. Decisions and measurements tell of the past as well. */
const FOLDERS = ['tutorials', 'how-to', 'reference', 'explanation']

async function pages(): Promise<readonly string[]> {
  const found = await Promise.all(
    FOLDERS.map(async (folder) => {
      const files = await readdir(join(ROOT, 'docs', folder), { recursive: true })
      return files.filter((file) => file.endsWith('.md')).map((file) => join('docs', folder, file))
    }),
  )
  return ['README.md', ...found.flat()]
}

/** The command lines of a page: in fences for a shell, and between backquotes. */
function commandLines(page: string): readonly (readonly string[])[] {
  const joined = page.replaceAll('\\\n', ' ')
  const fences = [...joined.matchAll(/^```(?:sh|shell|bash|console)?\n([^]*?)^```$/gm)]
  const shell = fences.flatMap(([, block = '']) => block.split('\n'))
  const prose = joined.replaceAll(/^```[^]*?^```$/gm, '')
  const inline = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
  return [
    ...shell.flatMap((line) => calls(line, /(?:^|[;&|(]|\bdo|\bif|\bthen)\s*(?:\$ )?reeve /g)),
    ...inline.flatMap((code) => calls(code, /^reeve /g)),
  ]
}

/** The words of each call of the program in a line, up to where the shell goes on. */
function calls(line: string, start: RegExp): readonly (readonly string[])[] {
  return [...line.matchAll(start)].map((match) => {
    const rest = line.slice(match.index + match[0].length)
    const words = rest.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? []
    const end = words.findIndex((word) => /^(?:[|;&>#)]|\d?>)/.test(word) || word === '…')
    return (end < 0 ? words : words.slice(0, end)).map((word) => word.replace(/[;)]+$/, ''))
  })
}

interface Known {
  readonly path: string
  /** Undefined where the flags are described elsewhere. */
  readonly flags: ReadonlySet<string> | undefined
  /** Flags after the first argument belong to what it runs. */
  readonly passesOn: boolean
}

const KNOWN: readonly Known[] = [
  ...COMMANDS.flatMap((spec) =>
    [spec.path, ...(spec.aliases ?? [])].map((path) => ({
      path,
      flags: new Set(
        withGlobalFlags(spec).flatMap(
          ({ usage }) => usage.match(/(?<![\w-])--?[a-z][\w-]*/g) ?? [],
        ),
      ),
      passesOn: spec.path.endsWith('exec') || spec.path.endsWith('action'),
    })),
  ),
  ...LOCAL_COMMANDS.map(({ path }) => ({ path, flags: undefined, passesOn: false })),
]

/** Returns what is wrong with a command line; undefined if it is valid. */
function problemOf(given: readonly string[]): string | undefined {
  const words = expandRunShorthand(given)
  const [first = ''] = words
  if (!/^[a-z]/.test(first) || first === 'help' || first === 'options') return undefined
  const endOfNames = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
  const names = endOfNames < 0 ? words : words.slice(0, endOfNames)
  const command = KNOWN.filter(({ path }) => isPrefix(path.split(' '), names)).toSorted(
    (a, b) => b.path.length - a.path.length,
  )[0]
  if (command === undefined) {
    const isGroup = KNOWN.some(({ path }) => isPrefix(names.slice(0, 1), path.split(' ')))
    return isGroup && names.length === 1 ? undefined : 'no such command'
  }
  const { flags } = command
  if (flags === undefined) return undefined
  const rest = words.slice(command.path.split(' ').length)
  const end = rest.indexOf('--')
  const unknown = (end < 0 ? rest : rest.slice(0, end))
    .map((word) => /^--[a-z][\w-]*/.exec(word)?.[0] ?? '')
    .find((flag) => flag !== '' && flag !== '--help' && !flags.has(flag))
  return unknown === undefined || command.passesOn ? undefined : `no flag ${unknown}`
}

function isPrefix(start: readonly string[], all: readonly string[]): boolean {
  return start.every((word, i) => word === all[i])
}

test('docs: every command and flag on the pages for users exists', async () => {
  const problems: string[] = []
  let count = 0
  for (const name of await pages())
    for (const words of commandLines(await readFile(join(ROOT, name), 'utf8'))) {
      count++
      const problem = problemOf(words)
      if (problem !== undefined && !MISTAKES.includes(words.join(' ')))
        problems.push(`${name}: reeve ${words.join(' ')}: ${problem}`)
    }
  assert.ok(count > 300, `${count} command lines`)
  assert.deepEqual(problems, [])
})

test('docs: a command that does not exist, or a flag of another one, is found', () => {
  assert.equal(problemOf(['job', 'nothing', 'web']), 'no such command')
  assert.equal(problemOf(['job', 'run', '--nothing', 'web.hcl']), 'no flag --nothing')
  assert.equal(problemOf(['job', 'run', '--detach', 'web.hcl']), undefined)
  assert.equal(problemOf(['run', 'web.hcl']), undefined)
})

test('messages: every command that the program or its pages propose exists', async () => {
  const problems: string[] = []
  let count = 0
  for (const folder of ['packages/reeve/src', 'packages/web/src']) {
    const files = await readdir(join(ROOT, folder), { recursive: true })
    for (const file of files.filter((one) => /\.tsx?$/.test(one) && !one.includes('.test.'))) {
      const text = await readFile(join(ROOT, folder, file), 'utf8')
      for (const [, line = ''] of text.matchAll(/["'`>]reeve ([a-z][^"'`<\n]*)/g)) {
        count++
        const words = line.split(' && ')[0]?.split(/\s+/) ?? []
        // Lines with template parts are not checked.
        const problem = line.includes('${') ? undefined : problemOf(words)
        if (problem !== undefined && !INTERNAL.includes(line))
          problems.push(`${file}: reeve ${line}: ${problem}`)
      }
    }
  }
  assert.ok(count > 100, `${count} commands`)
  assert.deepEqual(problems, [])
})
