import { readdirSync, readFileSync } from 'node:fs'
import {
  compilePolicy,
  parseExactJson,
  formatValue,
  STANDARD_IMPORTS,
  standardImport,
  StaticImports,
  toLazyValue,
  type CompiledPolicy,
  type EvaluateOptions,
  type Evaluation,
  type NativeDiagnostic,
  type PolicyOptions,
  type Value,
} from '../src/index.ts'

/**
 * One small policy and what comes of it. In the files, `--- note` begins a case. Either its last
 * line is `=> wanted` and the lines before are the policy, or each line is `expression => value`.
 * `+++ module NAME`, `+++ static NAME`, `+++ param NAME JSON`, `+++ global NAME JSON` and
 * `+++ policy` divide the text of a case.
 *
 *   pass|fail [VALUE] [printed TEXT] [rules NAMES]   undefined [LINE:COLUMN]
 *   error [PART OF MESSAGE]                          refused [LINE[:COLUMN]]
 *   not-pass                                         any of error, refused, undefined
 */
export interface NativeCase {
  readonly file: string
  readonly note: string
  readonly text: string
  readonly modules: ReadonlyMap<string, string>
  readonly statics: ReadonlyMap<string, string>
  readonly params: ReadonlyMap<string, string>
  readonly globals: ReadonlyMap<string, string>
  /** Whether `want` is the value of an expression. */
  readonly isExpression: boolean
  readonly want: string
}

const FOLDER = new URL('../src/cases/', import.meta.url)

export function readNativeCases(): readonly NativeCase[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.txt'))
    .toSorted()
    .flatMap((name) => readFile(name, readFileSync(new URL(name, FOLDER), 'utf8')))
}

function readFile(name: string, text: string): readonly NativeCase[] {
  const file = name.replace(/\.txt$/, '')
  return `\n${text}`
    .split('\n--- ')
    .slice(1)
    .flatMap((block) => {
      const lines = block.trimEnd().split('\n')
      const [note = '', ...rest] = lines
      const last = rest.at(-1) ?? ''
      return last.startsWith('=> ')
        ? [programCase({ file, note, lines: rest.slice(0, -1), want: last.slice(3) })]
        : rest.map((line) => expressionCase(file, note, line))
    })
}

interface Block {
  readonly file: string
  readonly note: string
  readonly lines: readonly string[]
  readonly want: string
}

const IMPORTED = [
  'base64',
  'collection',
  'decimal',
  'json',
  'runtime',
  'sockaddr',
  'strings',
].concat(['time', 'types', 'units', 'version'])

function expressionCase(file: string, note: string, line: string): NativeCase {
  const [expression = '', want = ''] = splitLast(line, ' => ')
  const imports = importsFor(expression)
  const text = `${imports}main = (${expression})\n`
  return {
    ...programCase({ file, note, lines: [], want }),
    note: `${note}: ${line}`,
    text,
    isExpression: true,
  }
}

function splitLast(text: string, separator: string): readonly string[] {
  const at = text.lastIndexOf(separator)
  return [text.slice(0, at), text.slice(at + separator.length)]
}

/** Expressions may use the standard imports without importing them. */
function importsFor(text: string): string {
  const paths = IMPORTED.filter((name) => text.includes(`${name}.`)).map((name) => `"${name}"`)
  for (const name of ['lists', 'maps'])
    if (text.includes(`${name}.`)) paths.push(`"collection/${name}" as ${name}`)
  return paths.map((path) => `import ${path}\n`).join('')
}

function programCase({ file, note, lines, want }: Block): NativeCase {
  const parts = {
    module: new Map<string, string>(),
    static: new Map<string, string>(),
    param: new Map<string, string>(),
    global: new Map<string, string>(),
  }
  let into = (_text: string): void => undefined
  let text = ''
  const policy = (line: string): void => void (text += line)
  into = policy
  for (const line of lines) {
    const [mark, kind = '', name = '', ...value] = line.split(' ')
    if (mark !== '+++') into(`${line.replace(/\[CR\]$/, '\r')}\n`)
    else if (kind === 'policy') into = policy
    else if (kind === 'param' || kind === 'global') parts[kind].set(name, value.join(' '))
    else if (kind === 'module' || kind === 'static')
      into = (more) => void parts[kind].set(name, (parts[kind].get(name) ?? '') + more)
    else throw new Error(`${note}: what is "${line}"?`)
  }
  const { module: modules, static: statics, param: params, global: globals } = parts
  const isFree = file === '2-imports' && !/^import /m.test(text)
  if (isFree) text = importsFor(text) + text
  return { file, note, text, modules, statics, params, globals, isExpression: false, want }
}

/** Describes the outcome of a case with the precision of its `want`. */
export function runNativeCase(wanted: NativeCase): string {
  const compiled = compileCase(wanted)
  if (!compiled.ok) return refusalText(compiled.error, wanted.want)
  return outcomeText(evaluateCase(wanted, compiled.value), wanted)
}

function compileCase({
  text,
  modules,
  statics,
  globals,
}: NativeCase): ReturnType<typeof compilePolicy> {
  const data = staticData(statics)
  const options: PolicyOptions = {
    modules: new Map(
      [...modules].map(([name, code]) => [name, { file: `${name}.native`, text: code }]),
    ),
    isImport: (path) => STANDARD_IMPORTS.has(path) || data.has(path),
    globals: [...globals.keys()],
  }
  return compilePolicy({ file: 'policy.native', text }, options)
}

function evaluateCase(wanted: NativeCase, policy: CompiledPolicy): Evaluation {
  return policy.evaluate(evaluateOptions(wanted))
}

/** 2026-03-04T05:06:07Z. */
const NOW_NS = 1_772_600_767_000_000_000n

function evaluateOptions({ statics, params, globals }: NativeCase): EvaluateOptions {
  const data = staticData(statics)
  const time = { nowNs: NOW_NS, zone: 'UTC', offsetSeconds: () => 0 }
  return {
    importValue: (path) => standardImport(path, { time, version: '1.0.0' }) ?? data.value(path),
    params: values(params),
    globals: values(globals),
    stepsMax: 1_000_000,
  }
}

function staticData(statics: ReadonlyMap<string, string>): StaticImports {
  return new StaticImports(
    new Map([...statics].map(([name, text]) => [name, parseExactJson(text)])),
  )
}

function values(texts: ReadonlyMap<string, string>): ReadonlyMap<string, Value> {
  return new Map([...texts].map(([name, text]) => [name, toLazyValue(parseExactJson(text))]))
}

function refusalText(problems: readonly NativeDiagnostic[], want: string): string {
  if (want === 'not-pass') return want
  const position = problems[0]?.position
  if (position === undefined) return 'refused without a problem'
  const wanted = /^refused (\d+)(:\d+)?$/.exec(want)
  if (wanted === null) return want === 'refused' ? want : `refused: ${problems[0]?.message}`
  const column = wanted[2] === undefined ? '' : `:${position.column}`
  return `refused ${position.line}${column}`
}

const SHOWN_MAX = 1_000

function outcomeText(evaluation: Evaluation, { want, isExpression }: NativeCase): string {
  const { result, value, error, undefinedAt } = evaluation
  if (want === 'not-pass' && result !== 'pass') return want
  if (result === 'error') {
    const part = /^error (.*)$/.exec(want)?.[1]
    return (error?.message ?? '').includes(part ?? '') && want.startsWith('error')
      ? want
      : `error: ${error?.message}`
  }
  if (result === 'undefined') {
    const at = `${undefinedAt?.line}:${undefinedAt?.column}`
    return want.includes(' ') ? `undefined ${at}` : 'undefined'
  }
  const shown = value === undefined ? '' : formatValue(value, SHOWN_MAX)
  if (isExpression) return shown
  return wordsOf(evaluation, shown, want)
}

function wordsOf({ result, printed, rules }: Evaluation, shown: string, want: string): string {
  const words: string[] = [result]
  if (/^(pass|fail) ./.test(want)) words.push(shown)
  if (want.includes(' printed ')) words.push('printed', printed.trimEnd())
  const names = rules.map(({ name }) => name).toSorted()
  if (want.includes(' rules ')) words.push('rules', names.join(','))
  return words.join(' ')
}
