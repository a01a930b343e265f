import { cutText } from '@reeve/kit/cut-text.ts'
import { FAILURES_PER_RULE_MAX, QUOTED_LENGTH_MAX, SHOWN_LENGTH_MAX } from '../limits.ts'
import type { Position, Source } from '../syntax/source.ts'
import type { Spot } from '../syntax/tree.ts'
import { show } from '../value/show.ts'
import type { Value } from '../value/value.ts'

/** An expression that was not true, where a rule needed it. */
export interface Failure {
  readonly position: Position
  /** The expression as it is written, on one line. */
  readonly text: string
  readonly value: string
  /** What it was made of: the two sides of a comparison, the element a quantifier ended at. */
  readonly operands: readonly { readonly text: string; readonly value: string }[]
}

/** A rule that was evaluated. */
export interface RuleReport {
  readonly name: string
  readonly description: string
  readonly position: Position
  readonly value: Value
  /** Why it is not true; only when the evaluation explains. */
  readonly failures: readonly Failure[]
}

interface Shown {
  readonly text: string
  readonly value: Value
}

/** Collects why conditions were not met. Only used when a policy is evaluated to be explained. */
export class Recorder {
  #failures: Failure[] = []

  /** Runs a rule with a list of its own. */
  within<T>(evaluate: () => T): { readonly value: T; readonly failures: readonly Failure[] } {
    const outer = this.#failures
    this.#failures = []
    try {
      return { value: evaluate(), failures: this.#failures }
    } finally {
      this.#failures = outer
    }
  }

  /** How much there is; to be handed to `forget` when what follows turns out to be true. */
  get mark(): number {
    return this.#failures.length
  }

  forget(mark: number): void {
    this.#failures.length = mark
  }

  add(source: Source, spot: Spot, found: { value: Value; operands: readonly Shown[] }): void {
    if (this.#failures.length >= FAILURES_PER_RULE_MAX) return
    this.#failures.push({
      position: source.positionAt(spot.start),
      text: quoteOf(source, spot),
      value: show(found.value, SHOWN_LENGTH_MAX),
      operands: found.operands.map(({ text, value }) => ({
        text,
        value: show(value, SHOWN_LENGTH_MAX),
      })),
    })
  }
}

export function quoteOf(source: Source, spot: Spot): string {
  const text = source.text.slice(spot.start, spot.end).replaceAll(/\s+/g, ' ')
  return cutText(text, QUOTED_LENGTH_MAX)
}
