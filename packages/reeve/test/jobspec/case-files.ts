import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dirname, join } from 'node:path'

const ROOT = fileURLToPath(new URL('cases/', import.meta.url))

/** What stands beside a job file and is not one itself. */
const COMPANION =
  /\.(?:expected|canonical|options)\.json$|\.vars\.(?:hcl|json)$|\.(?:expected|warnings)\.txt$/
const JOB_FILE = /\.(?:hcl|json)$/

export interface SourceText {
  readonly file: string
  readonly text: string
}

/** How a case is run; the file `<name>.options.json`. All of it may be absent. */
export interface CaseOptions {
  /** Variable files beside the job file, in the order they are given. */
  readonly variableFiles?: readonly string[]
  /** The inline text, which counts as the last variable file. */
  readonly variables?: string
  readonly flags?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
  readonly strict?: boolean
  /** Stands for every line end of the job file, which itself is kept with plain ones. */
  readonly lineEnd?: string
}

/** A job file of `cases/` and what is expected of it. */
export interface JobCase {
  /** Path without the ending: `batch/etl`. */
  readonly name: string
  readonly text: string
  readonly isLegacy: boolean
  readonly strict: boolean
  readonly variableTexts: readonly SourceText[]
  readonly flags: Readonly<Record<string, string>>
  readonly environment: Readonly<Record<string, string>>
  /** The fields that are set; `undefined` when the file must be refused. */
  readonly expected: unknown
  /** Some of the fields after canonicalisation; most cases have none. */
  readonly canonical: unknown
  /** What must be among the problems; `undefined` when the file must be accepted. */
  readonly problems: readonly ExpectedProblem[] | undefined
  /** What must be among the warnings about a file that is accepted. */
  readonly warnings: readonly ExpectedProblem[]
}

/**
 * One line of `<name>.expected.txt` or `<name>.warnings.txt`: `line,column: part of the message`.
 * The column is left out where the reference does not settle it; `*` stands for any place or any
 * message.
 */
export interface ExpectedProblem {
  readonly written: string
  readonly line: number | undefined
  readonly column: number | undefined
  readonly part: string
}

export function readCases(): readonly JobCase[] {
  const paths = filesBelow(ROOT).filter((path) => JOB_FILE.test(path) && !COMPANION.test(path))
  return paths.map(readCase)
}

/** Companions that belong to no job file: an expectation that nobody checks. */
export function findStrayFiles(): readonly string[] {
  const paths = filesBelow(ROOT)
  const names = new Set(paths.filter((path) => !COMPANION.test(path)).map(nameOf))
  const used = new Set(paths.flatMap((path) => variableFilesOf(path)))
  return paths.filter((path) => COMPANION.test(path) && !names.has(nameOf(path)) && !used.has(path))
}

function readCase(path: string): JobCase {
  const name = nameOf(path)
  const options = readOptions(name)
  const files = (options.variableFiles ?? []).map((file) => join(dirname(name), file))
  const inline = options.variables
  return {
    name,
    text: readFileSync(join(ROOT, path), 'utf8').replaceAll('\n', options.lineEnd ?? '\n'),
    isLegacy: name.startsWith('legacy/'),
    strict: options.strict ?? false,
    variableTexts: [
      ...files.map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') })),
      ...(inline === undefined ? [] : [{ file: 'variables.hcl', text: inline }]),
    ],
    flags: options.flags ?? {},
    environment: options.environment ?? {},
    expected: readJson(`${name}.expected.json`),
    canonical: readJson(`${name}.canonical.json`),
    problems: readProblems(`${name}.expected.txt`),
    warnings: readProblems(`${name}.warnings.txt`) ?? [],
  }
}

function readProblems(path: string): readonly ExpectedProblem[] | undefined {
  const text = readText(path)
  if (text === undefined) return undefined
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map(parseProblem)
}

function parseProblem(written: string): ExpectedProblem {
  const match = /^(?:\*|(?<line>\d+)(?:,(?<column>\d+))?): (?<part>.+)$/.exec(written)
  const { line, column, part } = match?.groups ?? {}
  if (part === undefined) throw new Error(`not "line,column: text": ${written}`)
  return {
    written,
    line: line === undefined ? undefined : Number(line),
    column: column === undefined ? undefined : Number(column),
    part: part === '*' ? '' : part,
  }
}

function variableFilesOf(path: string): readonly string[] {
  if (!path.endsWith('.options.json')) return []
  const name = nameOf(path)
  return (readOptions(name).variableFiles ?? []).map((file) => join(dirname(name), file))
}

const OPTION_NAMES: ReadonlySet<string> = new Set<keyof CaseOptions>([
  'variableFiles',
  'variables',
  'flags',
  'environment',
  'strict',
  'lineEnd',
])

function readOptions(name: string): CaseOptions {
  const options = readJson(`${name}.options.json`) ?? {}
  const unknown = Object.keys(options).filter((key) => !OPTION_NAMES.has(key))
  if (unknown.length > 0) throw new Error(`${name}: no such options: ${unknown.join(', ')}`)
  return options
}

function readJson(path: string): unknown {
  const text = readText(path)
  return text === undefined ? undefined : JSON.parse(text)
}

function readText(path: string): string | undefined {
  const whole = join(ROOT, path)
  return existsSync(whole) ? readFileSync(whole, 'utf8') : undefined
}

function nameOf(path: string): string {
  return path.replace(COMPANION, '').replace(JOB_FILE, '')
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
    .toSorted()
}
