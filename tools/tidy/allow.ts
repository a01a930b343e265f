import type { Finding } from '../source/finding.ts'
import type { Repository } from '../source/repository.ts'

/**
 * Exceptions: `// tidy-allow file-length: the table of opcodes is one unit` on the first line of a
 * file (after a `#!`). An exception without a reason, or no longer needed, is a finding itself.
 */
export function applyExceptions(
  repository: Repository,
  findings: readonly Finding[],
  rules: ReadonlySet<string>,
): Finding[] {
  const allows = repository.files.flatMap((path) => readExceptions(repository, path))
  const remaining = findings.filter(
    ({ path, rule }) => !allows.some((one) => one.path === path && one.rules.includes(rule)),
  )
  return [...remaining, ...allows.flatMap((allow) => exceptionFindings(allow, findings, rules))]
}

interface Exception {
  readonly path: string
  readonly line: number
  readonly rules: readonly string[]
  readonly reason: string
}

const EXCEPTION_MARKER = 'tidy-allow'
const EXCEPTION_PATTERN = new RegExp(
  `${EXCEPTION_MARKER}\\s+([\\w-]+(?:\\s*,\\s*[\\w-]+)*)\\s*:?\\s*(.*?)\\s*(?:-->|\\*/)?$`,
)
const SUPPORTED_FILES = /\.(?:tsx?|[cm]?js|md)$/

function readExceptions(repository: Repository, path: string): Exception[] {
  if (!SUPPORTED_FILES.test(path)) return []
  const [first = '', second = ''] = repository.read(path).split('\n', 2)
  const line = first.startsWith('#!') ? 2 : 1
  const text = line === 2 ? second : first
  if (!text.includes(EXCEPTION_MARKER)) return []
  const [, names = '', reason = ''] = EXCEPTION_PATTERN.exec(text) ?? []
  return [{ path, line, rules: names.split(',').map((name) => name.trim()), reason }]
}

function exceptionFindings(
  { path, line, rules, reason }: Exception,
  findings: readonly Finding[],
  known: ReadonlySet<string>,
): Finding[] {
  const finding = (message: string): Finding => ({ path, line, rule: EXCEPTION_MARKER, message })
  const unknown = rules.filter((rule) => !known.has(rule))
  const unused = rules.filter(
    (rule) => known.has(rule) && !findings.some((one) => one.path === path && one.rule === rule),
  )
  return [
    ...(reason === '' ? [finding('an exception needs its reason')] : []),
    ...unknown.map((rule) => finding(`there is no rule "${rule}"`)),
    ...unused.map((rule) => finding(`"${rule}" is kept without the exception: remove it`)),
  ]
}
