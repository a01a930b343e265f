import type { Finding } from '../source/finding.ts'
import type { Repository } from '../source/repository.ts'

/**
 * Exceptions: `// tidy-allow file-length: the table of opcodes is one idea` on the first line of a
 * file (after a `#!`). An exception without a reason, or no longer needed, is a finding itself.
 */
export function applyAllows(
  repository: Repository,
  findings: readonly Finding[],
  rules: ReadonlySet<string>,
): Finding[] {
  const allows = repository.files.flatMap((path) => readAllow(repository, path))
  const left = findings.filter(
    ({ path, rule }) => !allows.some((one) => one.path === path && one.rules.includes(rule)),
  )
  return [...left, ...allows.flatMap((allow) => complaintsAbout(allow, findings, rules))]
}

interface Allow {
  readonly path: string
  readonly line: number
  readonly rules: readonly string[]
  readonly reason: string
}

const MARK = 'tidy-allow'
const FORM = new RegExp(
  `${MARK}\\s+([\\w-]+(?:\\s*,\\s*[\\w-]+)*)\\s*:?\\s*(.*?)\\s*(?:-->|\\*/)?$`,
)
const MAY_HOLD_ONE = /\.(?:tsx?|[cm]?js|md)$/

function readAllow(repository: Repository, path: string): Allow[] {
  if (!MAY_HOLD_ONE.test(path)) return []
  const [first = '', second = ''] = repository.read(path).split('\n', 2)
  const line = first.startsWith('#!') ? 2 : 1
  const text = line === 2 ? second : first
  if (!text.includes(MARK)) return []
  const [, names = '', reason = ''] = FORM.exec(text) ?? []
  return [{ path, line, rules: names.split(',').map((name) => name.trim()), reason }]
}

function complaintsAbout(
  { path, line, rules, reason }: Allow,
  findings: readonly Finding[],
  known: ReadonlySet<string>,
): Finding[] {
  const finding = (message: string): Finding => ({ path, line, rule: MARK, message })
  const unknown = rules.filter((rule) => !known.has(rule))
  const unneeded = rules.filter(
    (rule) => known.has(rule) && !findings.some((one) => one.path === path && one.rule === rule),
  )
  return [
    ...(reason === '' ? [finding('an exception needs its reason')] : []),
    ...unknown.map((rule) => finding(`there is no rule "${rule}"`)),
    ...unneeded.map((rule) => finding(`"${rule}" is kept without the exception: remove it`)),
  ]
}
