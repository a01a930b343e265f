import { formatDiagnostic, formatDiagnostics, type Diagnostic, type Range } from '@reeve/hcl'
import type { Option } from './option.ts'
import { describeFilePath } from './option.ts'
import { optionEntries } from './options.ts'

/** The source of a value. */
export type Origin =
  | { readonly kind: 'flag'; readonly name: string }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'file'; readonly range: Range }
  /** A whole file or directory. */
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'default' }

/** A problem that prevents an agent from starting. */
export interface ConfigProblem {
  readonly origin: Origin
  /** A sentence. */
  readonly message: string
}

/** The name of a setting in messages, in the notation of its source. */
export function settingName(option: Option<unknown>, origin: Origin): string {
  if (origin.kind === 'flag' || origin.kind === 'environment') return origin.name
  return option.file === undefined ? (option.flag?.long ?? '') : describeFilePath(option.file)
}

export function fromDiagnostic({ range, summary, detail }: Diagnostic): ConfigProblem {
  return {
    origin: { kind: 'file', range },
    message: detail === '' ? summary : `${summary}. ${detail}`,
  }
}

/**
 * Formats each problem as a paragraph: position and message, and for files the line with a marker.
 */
export function formatProblems(
  problems: readonly ConfigProblem[],
  texts: ReadonlyMap<string, string>,
): string {
  return problems.map((problem) => formatProblem(problem, texts)).join('\n\n')
}

function formatProblem(
  { origin, message }: ConfigProblem,
  texts: ReadonlyMap<string, string>,
): string {
  if (origin.kind === 'path') return `${origin.path}: ${message}`
  if (origin.kind !== 'file') return message
  const { range } = origin
  const diagnostic: Diagnostic = { severity: 'error', summary: message, detail: '', range }
  return mentionsSecret(range, texts.get(range.file) ?? '')
    ? formatDiagnostic(diagnostic)
    : formatDiagnostics(texts, [diagnostic])
}

const secretNames = optionEntries.flatMap(([, { kind, file }]) =>
  kind.isSecret && file !== undefined ? file.slice(-1) : [],
)

/**
 * Whether the line names a secret setting. It probably contains the value, which must not get into
 * logs.
 */
function mentionsSecret({ start }: Range, text: string): boolean {
  const lineStart = text.lastIndexOf('\n', start.offset - 1) + 1
  const lineEnd = text.indexOf('\n', start.offset)
  const line = text.slice(lineStart, lineEnd === -1 ? undefined : lineEnd)
  return secretNames.some((name) => line.includes(name))
}

/** Converts a problem for `reeve config validate --json`. */
export function toJsonProblem({ origin, message }: ConfigProblem): object {
  if (origin.kind === 'path') return { file: origin.path, message }
  if (origin.kind !== 'file') return { message }
  const { file, start } = origin.range
  return { file, line: start.line, column: start.column, message }
}
