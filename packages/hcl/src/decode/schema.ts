import type { Result } from '@reeve/kit/result.ts'
import type { Scope } from '../evaluate/scope.ts'
import type { Block, Expression } from '../syntax/tree.ts'
import type { Diagnostic } from '../text/diagnostic.ts'
import type { Span } from '../text/source.ts'
import type { Type } from '../value/type.ts'
import type { Value } from '../value/value.ts'

/** What a body may hold. A name may be listed as both; one body then uses it one way only. */
export interface BodySchema {
  readonly attributes?: Readonly<Record<string, AttributeSchema>>
  readonly blocks?: Readonly<Record<string, BlockSchema>>
  /**
   * Other names are allowed too: attributes of any type, and blocks with any labels and an open
   * body.
   */
  readonly isOpen?: boolean
  /**
   * The names are data, as in the block form of a map: any attribute is allowed, each of this
   * kind, and no block.
   */
  readonly otherAttributes?: AttributeSchema
}

export interface AttributeSchema {
  /** What the value is converted to. Default: any type, no conversion. */
  readonly type?: Type
  /**
   * What becomes of the converted value, null included; fails with the words that follow
   * `Inappropriate value for argument "x":`. For kinds that the language has no type for.
   */
  readonly read?: (value: Value) => Result<Value, string>
  /** It must be there and must not be null. */
  readonly isRequired?: boolean
}

export interface BlockSchema {
  /** What each label means, in the words of messages: `['name']`. Default: none. */
  readonly labels?: readonly string[]
  readonly countMin?: number
  readonly countMax?: number
  /** Default: open. */
  readonly body?: BodySchema
}

/** The schema that allows everything, for bodies whose reader comes later. */
export const OPEN_BODY: BodySchema = { isOpen: true }

export interface DecodeOptions {
  readonly scope: Scope
  readonly expander?: BlockExpander
}

/** A block type that stands for other blocks wherever it appears, such as `dynamic`. */
export interface BlockExpander {
  readonly type: string
  readonly labels: readonly string[]
  /**
   * The blocks it stands for, each with the scope for its body. They may hold such blocks again.
   */
  expand(block: Block, scope: Scope): Result<readonly ScopedBlock[], readonly Diagnostic[]>
}

export interface ScopedBlock {
  readonly block: Block
  readonly scope: Scope
}

/** A body with every expression evaluated. */
export interface DecodedBody {
  readonly attributes: ReadonlyMap<string, DecodedAttribute>
  /** In source order, types mixed. */
  readonly blocks: readonly DecodedBlock[]
  /** Where to point when something is missing. */
  readonly anchor: Span
}

export interface DecodedAttribute {
  readonly name: string
  readonly value: Value
  readonly nameSpan: Span
  readonly expression: Expression
}

export interface DecodedBlock {
  readonly type: string
  readonly labels: readonly string[]
  readonly body: DecodedBody
  readonly headerSpan: Span
}
