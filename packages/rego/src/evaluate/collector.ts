import {
  equal,
  type Key,
  keyOf,
  ObjectBuilder,
  SetBuilder,
  type SetValue,
  type Value,
} from '../value/value.ts'

/** Gathers the answers of a comprehension or of the rules of a partial document. */
export class Collector {
  readonly list: Value[] = []
  #set: SetBuilder | undefined
  #document: DocumentNode | undefined

  get set(): SetBuilder {
    this.#set ??= new SetBuilder()
    return this.#set
  }

  get document(): DocumentNode {
    this.#document ??= new DocumentNode()
    return this.#document
  }
}

/** Undefined: two answers contradict each other. */
export type Put = true | undefined

/** A nested object while rules put entries into it. */
export class DocumentNode {
  #value: Value | undefined
  #members: SetBuilder | undefined
  #children: Map<Key, { readonly key: Value; readonly node: DocumentNode }> | undefined

  /** One value at a path; the same again is no contradiction. */
  put(path: readonly Value[], value: Value): Put {
    const node = this.#descend(path)
    if (node === undefined || node.#members !== undefined || node.#children !== undefined)
      return undefined
    if (node.#value !== undefined) return equal(node.#value, value) ? true : undefined
    node.#value = value
    return true
  }

  /** A member of the set at a path. */
  add(path: readonly Value[], member: Value): Put {
    const node = this.#descend(path)
    if (node === undefined || node.#value !== undefined || node.#children !== undefined)
      return undefined
    node.#members ??= new SetBuilder()
    node.#members.add(member)
    return true
  }

  addAll(path: readonly Value[], members: SetValue): Put {
    const node = this.#descend(path)
    if (node === undefined || node.#value !== undefined || node.#children !== undefined)
      return undefined
    node.#members ??= new SetBuilder()
    node.#members.addAll(members.unordered())
    return true
  }

  #descend(path: readonly Value[]): DocumentNode | undefined {
    const [key, ...rest] = path
    if (key === undefined) return this
    if (this.#value !== undefined || this.#members !== undefined) return undefined
    this.#children ??= new Map()
    const own = keyOf(key)
    let child = this.#children.get(own)
    if (child === undefined) {
      child = { key, node: new DocumentNode() }
      this.#children.set(own, child)
    }
    return child.node.#descend(rest)
  }

  build(): Value {
    if (this.#value !== undefined) return this.#value
    if (this.#members !== undefined) return this.#members.build()
    const builder = new ObjectBuilder()
    for (const { key, node } of this.#children?.values() ?? []) builder.set(key, node.build())
    return builder.build()
  }
}
