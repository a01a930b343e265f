import type { SourceFile } from '../compile/compile.ts'
import type { RegoVersion } from '../syntax/cursor.ts'
import { parseModule } from '../syntax/parse.ts'
import { Source } from '../syntax/source.ts'
import type { TraceEvent } from './env.ts'

/** How many rules of one module had a value in some evaluation. */
export interface ModuleCoverage {
  readonly file: string
  readonly rules: number
  readonly reached: number
  /** Rows of the rules that never had a value, in order. */
  readonly missedRows: readonly number[]
}

interface Marks {
  /** Row of each rule by where it begins. */
  readonly rows: ReadonlyMap<number, number>
  readonly reached: Set<number>
}

/** Collects which rules had a value, over any number of evaluations that are traced. */
export class RuleCoverage {
  readonly #modules = new Map<string, Marks>()

  /** A module that cannot be parsed has no rules. */
  add({ file, text }: SourceFile, version: RegoVersion): void {
    const source = new Source(file, text)
    const module = parseModule(source, version)
    if (!module.ok) return
    const rows = module.value.rules.map(({ at }) => [at, source.locate(at).row] as const)
    this.#modules.set(file, { rows: new Map(rows), reached: new Set() })
  }

  /** To be passed as `trace`, or called by it, of queries that explain. */
  readonly addTraceEvent = (event: TraceEvent): void => {
    if (event.type !== 'value') return
    const { source, rule } = event.rule
    this.#modules.get(source.file)?.reached.add(rule.at)
  }

  report(): readonly ModuleCoverage[] {
    return [...this.#modules].map(([file, { rows, reached }]) => {
      const missed = [...rows].filter(([at]) => !reached.has(at)).map(([, row]) => row)
      return {
        file,
        rules: rows.size,
        reached: rows.size - missed.length,
        missedRows: [...new Set(missed)].toSorted((a, b) => a - b),
      }
    })
  }
}
