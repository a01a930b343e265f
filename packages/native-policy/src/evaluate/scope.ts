import type { Statement } from '../syntax/ast.ts'
import type { Value } from '../value/value.ts'

/** The variables of one activation of a scope; undefined if not assigned yet. */
export interface Frame {
  readonly slots: (Value | undefined)[]
  readonly parent: Frame | undefined
}

/** A possible location of a variable: number of enclosing scopes to skip, and slot. */
export interface SlotRef {
  readonly depth: number
  readonly slot: number
}

/**
 * The names that a file, function, loop or quantifier may define. The scope of a name is known only
 * at run time, because an assignment writes to the nearest scope that already has the name. So the
 * compiler lists all candidate slots, and the code tries them in order.
 */
export class Scope {
  readonly #parent: Scope | undefined
  readonly #slots = new Map<string, number>()
  /** Holds imports and predeclared names, which cannot be assigned. */
  readonly #isFixed: boolean

  constructor(parent: Scope | undefined, names: Iterable<string>, isFixed = false) {
    this.#parent = parent
    this.#isFixed = isFixed
    for (const name of names) this.declare(name)
  }

  get names(): readonly string[] {
    return [...this.#slots.keys()]
  }

  declare(name: string): number {
    const known = this.#slots.get(name)
    if (known !== undefined) return known
    const slot = this.#slots.size
    this.#slots.set(name, slot)
    return slot
  }

  slotOf(name: string): number | undefined {
    return this.#slots.get(name)
  }

  /** Ordered from the innermost scope outwards. */
  candidateSlots(name: string): readonly SlotRef[] {
    return this.#places(name, () => true)
  }

  /** Like `candidateSlots`, without names that cannot be assigned. */
  writablePlacesOf(name: string): readonly SlotRef[] {
    return this.#places(name, (scope) => !scope.#isFixed)
  }

  #places(name: string, counts: (scope: Scope) => boolean): readonly SlotRef[] {
    const slot = counts(this) ? this.#slots.get(name) : undefined
    const outer = this.#parent === undefined ? [] : this.#parent.#places(name, counts)
    const further = outer.map((place) => ({ ...place, depth: place.depth + 1 }))
    return slot === undefined ? further : [{ depth: 0, slot }, ...further]
  }

  frame(parent: Frame | undefined): Frame {
    return { slots: Array.from({ length: this.#slots.size }), parent }
  }
}

export function frameAt(frame: Frame, depth: number): Frame {
  let found = frame
  for (let left = depth; left > 0 && found.parent !== undefined; left--) found = found.parent
  return found
}

/**
 * Names that statements may assign in their own scope. `if` and `case` have no scope of their own;
 * loops do.
 */
export function assignedNames(statements: readonly Statement[]): Set<string> {
  const names = new Set<string>()
  collect(statements, names)
  return names
}

function collect(statements: readonly Statement[], names: Set<string>): void {
  for (const statement of statements)
    switch (statement.kind) {
      case 'assign':
        names.add(statement.target.name)
        break
      case 'named-function':
        names.add(statement.name.name)
        break
      case 'if':
        collect(statement.consequence, names)
        collect(statement.otherwise, names)
        break
      case 'case':
        for (const { body } of statement.clauses) collect(body, names)
        collect(statement.otherwise ?? [], names)
        break
      default:
        break
    }
}
