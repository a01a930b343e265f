import { truncateText } from '@reeve/kit/truncate-text.ts'
import { FAILURES_PER_RULE_MAX, QUOTED_LENGTH_MAX, SHOWN_LENGTH_MAX } from '../limits.ts'
import type { Position, Source } from '../syntax/source.ts'
import type { TextSpan } from '../syntax/ast.ts'
import { formatValue, type Value } from '../value/value.ts'

/** An expression in a rule that was not true. */
export interface Failure {
  readonly position: Position
  /** The source text of the expression on one line. */
  readonly text: string
  readonly value: string
  /** Its operands: the two sides of a comparison, or the element at which a quantifier stopped. */
  readonly operands: readonly { readonly text: string; readonly value: string }[]
}

/** An evaluated rule. */
export interface RuleResult {
  readonly name: string
  readonly description: string
  readonly position: Position
  readonly value: Value
  /** Why the rule is not true; only with `explain`. */
  readonly failures: readonly Failure[]
}

interface Shown {
  readonly text: string
  readonly value: Value
}

/** Records why conditions were false. Only used when an evaluation explains its result. */
export class FailureRecorder {
  #failures: Failure[] = []

  /** Evaluates a rule with a separate list of failures. */
  scoped<T>(evaluate: () => T): { readonly value: T; readonly failures: readonly Failure[] } {
    const outer = this.#failures
    this.#failures = []
    try {
      return { value: evaluate(), failures: this.#failures }
    } finally {
      this.#failures = outer
    }
  }

  /**
   * The current number of failures, to pass to `rollback` if the condition turns out to be true.
   */
  get checkpoint(): number {
    return this.#failures.length
  }

  rollback(mark: number): void {
    this.#failures.length = mark
  }

  add(source: Source, spot: TextSpan, found: { value: Value; operands: readonly Shown[] }): void {
    if (this.#failures.length >= FAILURES_PER_RULE_MAX) return
    this.#failures.push({
      position: source.positionAt(spot.start),
      text: sourceExcerpt(source, spot),
      value: formatValue(found.value, SHOWN_LENGTH_MAX),
      operands: found.operands.map(({ text, value }) => ({
        text,
        value: formatValue(value, SHOWN_LENGTH_MAX),
      })),
    })
  }
}

export function sourceExcerpt(source: Source, spot: TextSpan): string {
  const text = source.text.slice(spot.start, spot.end).replaceAll(/\s+/g, ' ')
  return truncateText(text, QUOTED_LENGTH_MAX)
}
