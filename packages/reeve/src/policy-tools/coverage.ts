import { findCoverageTargets, type Evaluation } from '@reeve/native-policy'
import { RuleCoverage, type ModuleCoverage, type RegoVersion, type TraceEvent } from '@reeve/rego'
import type { TextFile } from './files.ts'

/** How much of one file the tests came to. */
export interface FileCoverage {
  readonly file: string
  readonly rules: Share
  /** Of native policies only. */
  readonly statements: Share
  /** Lines with a rule or a statement that no test came to. */
  readonly missedLines: readonly number[]
}

interface Share {
  readonly reached: number
  readonly all: number
}

/** Gathers what evaluations came to, and holds it against all there is. */
export class Coverage {
  readonly #files = new Map<string, FileMarks>()
  readonly #rego = new RuleCoverage()

  addNative({ file, text }: TextFile): void {
    const outline = findCoverageTargets(file, text)
    if (this.#files.has(file) || !outline.ok) return
    const marks = new FileMarks()
    for (const { offset, line } of outline.value.statements) marks.statements.set(offset, line)
    for (const { offset, line } of outline.value.rules) marks.rules.set(offset, line)
    this.#files.set(file, marks)
  }

  addRego(file: TextFile, version: RegoVersion): void {
    this.#rego.add(file, version)
  }

  evaluated({ reached, rules }: Evaluation): void {
    for (const [file, starts] of reached)
      for (const start of starts) this.#files.get(file)?.reached.add(start)
    for (const { position } of rules)
      this.#files.get(position.file)?.reachedRules.add(position.offset)
  }

  traced(event: TraceEvent): void {
    this.#rego.traced(event)
  }

  report(): readonly FileCoverage[] {
    const native = [...this.#files].map(([file, marks]) => marks.report(file))
    return [...native, ...this.#rego.report().map(ofRules)]
  }
}

function ofRules({ file, rules, reached, missedRows }: ModuleCoverage): FileCoverage {
  return {
    file,
    rules: { reached, all: rules },
    statements: { reached: 0, all: 0 },
    missedLines: missedRows,
  }
}

/** Places in one file, by where they begin, with their lines. */
class FileMarks {
  readonly statements = new Map<number, number>()
  readonly rules = new Map<number, number>()
  readonly reached = new Set<number>()
  readonly reachedRules = new Set<number>()

  report(file: string): FileCoverage {
    const missed = new Set<number>()
    const share = (all: ReadonlyMap<number, number>, reached: ReadonlySet<number>): Share => {
      for (const [start, line] of all) if (!reached.has(start)) missed.add(line)
      const count = [...all.keys()].filter((start) => reached.has(start)).length
      return { reached: count, all: all.size }
    }
    const rules = share(this.rules, this.reachedRules)
    const statements = share(this.statements, this.reached)
    return { file, rules, statements, missedLines: [...missed].toSorted((a, b) => a - b) }
  }
}

export function formatCoverage({ file, rules, statements, missedLines }: FileCoverage): string {
  const parts = [`${rules.reached} of ${rules.all} rules`]
  if (statements.all > 0) parts.push(`${statements.reached} of ${statements.all} statements`)
  const missed = missedLines.length === 0 ? '' : `; not reached: lines ${ranges(missedLines)}`
  return `${file}: ${parts.join(', ')}${missed}`
}

/** `1-3, 7`. */
function ranges(lines: readonly number[]): string {
  const found: { from: number; to: number }[] = []
  for (const line of lines) {
    const last = found.at(-1)
    if (last !== undefined && line === last.to + 1) last.to = line
    else found.push({ from: line, to: line })
  }
  return found.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}
