import type { Statement } from '../syntax/tree.ts'
import type { Value } from '../value/value.ts'

/** The variables of one run of a scope; undefined: not assigned yet. */
export interface Frame {
  readonly slots: (Value | undefined)[]
  readonly parent: Frame | undefined
}

/** Where a name may be found: so many scopes out, in that slot. */
export interface Place {
  readonly depth: number
  readonly slot: number
}

/**
 * The names that a file, a function, a loop or a quantifier may hold. Which scope a name belongs to
 * is known only when the code runs: an assignment writes the nearest scope that has the name
 * already. So all candidates are found when code is made, and tried in turn.
 */
export class Scope {
  readonly #parent: Scope | undefined
  readonly #slots = new Map<string, number>()
  /** Holds imports and predeclared names, which an assignment never changes. */
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

  /** From the nearest scope outwards. */
  placesOf(name: string): readonly Place[] {
    return this.#places(name, () => true)
  }

  /** The same, without what an assignment cannot change. */
  writablePlacesOf(name: string): readonly Place[] {
    return this.#places(name, (scope) => !scope.#isFixed)
  }

  #places(name: string, counts: (scope: Scope) => boolean): readonly Place[] {
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

/** What statements may assign in their own scope: `if` and `case` have none, loops do. */
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
