import type { Result } from '@reeve/kit/result.ts'
import type { Scope } from '../evaluate/scope.ts'
import type { Block, Expression } from '../syntax/ast.ts'
import type { Diagnostic } from '../text/diagnostic.ts'
import type { Span } from '../text/source.ts'
import type { Type } from '../value/type.ts'
import type { Value } from '../value/value.ts'

/**
 * The allowed contents of a body. A name may be both an attribute and a block type; one body uses
 * only one of them.
 */
export interface BodySchema {
  readonly attributes?: Readonly<Record<string, AttributeSchema>>
  readonly blocks?: Readonly<Record<string, BlockSchema>>
  /**
   * Other names are allowed too: attributes of any type, and blocks with any labels and an open
   * body.
   */
  readonly isOpen?: boolean
  /**
   * The names are data, as in the block form of a map: any attribute of this schema is allowed, and
   * no block.
   */
  readonly otherAttributes?: AttributeSchema
}

export interface AttributeSchema {
  /** The value is converted to this type. Default: any type, without conversion. */
  readonly type?: Type
  /**
   * Maps the converted value, including null. An error is the text after `Inappropriate value for
   * argument "x":`. For kinds that the language has no type for.
   */
  readonly read?: (value: Value) => Result<Value, string>
  /** The attribute must be present and not null. */
  readonly isRequired?: boolean
}

export interface BlockSchema {
  /** The meaning of each label, for messages: `['name']`. Default: no labels. */
  readonly labels?: readonly string[]
  readonly countMin?: number
  readonly countMax?: number
  /** Default: an open body. */
  readonly body?: BodySchema
}

/** Allows everything, for bodies that are decoded later. */
export const OPEN_BODY: BodySchema = { isOpen: true }

export interface DecodeOptions {
  readonly scope: Scope
  readonly expander?: BlockExpander
}

/** A block type that expands to other blocks wherever it appears, such as `dynamic`. */
export interface BlockExpander {
  readonly type: string
  readonly labels: readonly string[]
  /**
   * The resulting blocks, each with the scope for its body. They may contain expandable blocks
   * again.
   */
  expand(block: Block, scope: Scope): Result<readonly ScopedBlock[], readonly Diagnostic[]>
}

export interface ScopedBlock {
  readonly block: Block
  readonly scope: Scope
}

/** A body with all expressions evaluated. */
export interface DecodedBody {
  readonly attributes: ReadonlyMap<string, DecodedAttribute>
  /** In source order, with types mixed. */
  readonly blocks: readonly DecodedBlock[]
  /** Position for diagnostics about missing items. */
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
