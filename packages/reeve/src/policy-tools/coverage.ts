import { findCoverageTargets, type Evaluation } from '@reeve/native-policy'
import { RuleCoverage, type ModuleCoverage, type RegoVersion, type TraceEvent } from '@reeve/rego'
import type { TextFile } from './files.ts'

/** Test coverage of one file. */
interface FileCoverage {
  readonly file: string
  readonly rules: CoverageCount
  /** Of native policies only. */
  readonly statements: CoverageCount
  /** Lines with a rule or a statement that no test executed. */
  readonly missedLines: readonly number[]
}

interface CoverageCount {
  readonly reached: number
  readonly all: number
}

/**
 * Collects executed rules and statements, and compares them with all rules and statements of the
 * files.
 */
export class Coverage {
  readonly #files = new Map<string, FileCoverageBuilder>()
  readonly #rego = new RuleCoverage()

  addNative({ file, text }: TextFile): void {
    const targets = findCoverageTargets(file, text)
    if (this.#files.has(file) || !targets.ok) return
    const builder = new FileCoverageBuilder()
    for (const { offset, line } of targets.value.statements) builder.statements.set(offset, line)
    for (const { offset, line } of targets.value.rules) builder.rules.set(offset, line)
    this.#files.set(file, builder)
  }

  addRego(file: TextFile, version: RegoVersion): void {
    this.#rego.add(file, version)
  }

  addEvaluation({ reached, rules }: Evaluation): void {
    for (const [file, starts] of reached)
      for (const start of starts) this.#files.get(file)?.reached.add(start)
    for (const { position } of rules)
      this.#files.get(position.file)?.reachedRules.add(position.offset)
  }

  addTraceEvent(event: TraceEvent): void {
    this.#rego.addTraceEvent(event)
  }

  report(): readonly FileCoverage[] {
    const native = [...this.#files].map(([file, builder]) => builder.report(file))
    return [...native, ...this.#rego.report().map(fromRuleCoverage)]
  }
}

function fromRuleCoverage({ file, rules, reached, missedRows }: ModuleCoverage): FileCoverage {
  return {
    file,
    rules: { reached, all: rules },
    statements: { reached: 0, all: 0 },
    missedLines: missedRows,
  }
}

/** Coverage targets of one file by offset, with their lines. */
class FileCoverageBuilder {
  readonly statements = new Map<number, number>()
  readonly rules = new Map<number, number>()
  readonly reached = new Set<number>()
  readonly reachedRules = new Set<number>()

  report(file: string): FileCoverage {
    const missed = new Set<number>()
    const countReached = (
      all: ReadonlyMap<number, number>,
      reached: ReadonlySet<number>,
    ): CoverageCount => {
      for (const [start, line] of all) if (!reached.has(start)) missed.add(line)
      const count = [...all.keys()].filter((start) => reached.has(start)).length
      return { reached: count, all: all.size }
    }
    const rules = countReached(this.rules, this.reachedRules)
    const statements = countReached(this.statements, this.reached)
    return { file, rules, statements, missedLines: [...missed].toSorted((a, b) => a - b) }
  }
}

export function formatCoverage({ file, rules, statements, missedLines }: FileCoverage): string {
  const parts = [`${rules.reached} of ${rules.all} rules`]
  if (statements.all > 0) parts.push(`${statements.reached} of ${statements.all} statements`)
  const missed = missedLines.length === 0 ? '' : `; not reached: lines ${formatRanges(missedLines)}`
  return `${file}: ${parts.join(', ')}${missed}`
}

/** `1-3, 7`. */
function formatRanges(lines: readonly number[]): string {
  const found: { from: number; to: number }[] = []
  for (const line of lines) {
    const last = found.at(-1)
    if (last !== undefined && line === last.to + 1) last.to = line
    else found.push({ from: line, to: line })
  }
  return found.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}
