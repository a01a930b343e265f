import type { Spread, TaskGroup } from '@reeve/contract'
import { targetReader, type PublicNode } from '../../model/index.ts'
import type { ProposedChange } from '../proposed.ts'
import type { NodeTable } from './node-table.ts'
import { onGrid } from './score.ts'

/** Stands for every value that no target names. */
const ANY_VALUE = '*'

export interface SpreadOptions {
  /** Those of the job and those of the group. */
  readonly spreads: readonly Spread[]
  readonly group: TaskGroup
  readonly table: NodeTable
  readonly findNode: (id: string) => PublicNode | undefined
}

/**
 * How the spreads of a job and of one of its groups score nodes. Nodes with the same values score
 * the same, so they are put together in buckets, and a bucket is scored as one.
 */
export class Spreads {
  readonly #group: string
  readonly #rules: readonly SpreadRule[]
  readonly #findNode: (id: string) => PublicNode | undefined
  /** Which bucket each node of the table is in. */
  readonly bucketOf: Int32Array
  /** For each bucket, its value in each rule; −1 where its nodes have none. */
  readonly #buckets: (readonly number[])[] = []
  #boosts: Float64Array | undefined

  constructor({ spreads, group, table, findNode }: SpreadOptions) {
    const weight = spreads.reduce((sum, spread) => sum + spread.Weight, 0)
    this.#group = group.Name
    this.#findNode = findNode
    this.#rules = spreads.map(
      (spread) => new SpreadRule(spread, group.Count, spread.Weight / Math.max(1, weight)),
    )
    this.bucketOf = this.#fillBuckets(table)
  }

  get bucketCount(): number {
    return this.#buckets.length
  }

  /** Follows the plan: an allocation came to a node or left it. */
  apply({ nodeId, group, delta }: ProposedChange): void {
    if (group !== this.#group || this.#rules.length === 0) return
    const node = this.#findNode(nodeId)
    if (node === undefined) return
    for (const rule of this.#rules) rule.add(node, delta)
    this.#boosts = undefined
  }

  /** What the spreads add to the score of the nodes of each bucket; 0 does not apply. */
  boosts(): Float64Array {
    if (this.#boosts !== undefined) return this.#boosts
    for (const rule of this.#rules) rule.weigh()
    const boosts = new Float64Array(this.#buckets.length)
    for (let bucket = 0; bucket < boosts.length; bucket++) boosts[bucket] = this.#boost(bucket)
    this.#boosts = boosts
    return boosts
  }

  #boost(bucket: number): number {
    const values = this.#buckets[bucket] ?? []
    let sum = 0
    for (let i = 0; i < values.length; i++) sum += this.#rules[i]?.boostOf(values[i] ?? -1) ?? 0
    return onGrid(sum)
  }

  /** Nodes are told apart by one rule after the other. */
  #fillBuckets(table: NodeTable): Int32Array {
    const bucketOf = new Int32Array(table.size)
    this.#buckets.push([])
    for (const rule of this.#rules) {
      const { codes, values } = table.propertyOf(rule.attribute)
      rule.know(values)
      const parts = this.#buckets.splice(0)
      const known = new Map<number, number>()
      for (let at = 0; at < bucketOf.length; at++) {
        const [before, code] = [bucketOf[at] ?? 0, codes[at] ?? -1]
        const name = before * (values.length + 1) + code + 1
        const bucket = known.get(name) ?? this.#buckets.push([...(parts[before] ?? []), code]) - 1
        known.set(name, bucket)
        bucketOf[at] = bucket
      }
    }
    return bucketOf
  }
}

/** One spread, with how many allocations of the group each of its values has. */
class SpreadRule {
  readonly attribute: string
  readonly #valueOn: (node: PublicNode) => string | undefined
  readonly #count: number
  readonly #share: number
  /** How many allocations each value should have; undefined for an even spread. */
  readonly #desired: ReadonlyMap<string, number> | undefined
  readonly #places = new Map<string, number>()
  readonly #values: { readonly desired: number | undefined; used: number; boost: number }[] = []

  constructor(spread: Spread, count: number, share: number) {
    this.attribute = spread.Attribute
    this.#valueOn = targetReader(spread.Attribute)
    this.#count = count
    this.#share = share
    this.#desired = this.#desiredCounts(spread)
  }

  /** Numbers values in their order; those that are met later come after them. */
  know(values: readonly string[]): void {
    for (const value of values) this.#placeOf(value)
  }

  #placeOf(value: string): number {
    const known = this.#places.get(value)
    if (known !== undefined) return known
    const desired = this.#desired?.get(value) ?? this.#desired?.get(ANY_VALUE)
    const place = this.#values.push({ desired, used: 0, boost: 0 }) - 1
    this.#places.set(value, place)
    return place
  }

  add(node: PublicNode, delta: number): void {
    const name = this.#valueOn(node)
    const value = name === undefined ? undefined : this.#values[this.#placeOf(name)]
    if (value !== undefined) value.used += delta
  }

  /** Works out what each value scores as things are now. */
  weigh(): void {
    if (this.#desired === undefined) this.#weighEvenly()
    else this.#weighTargets()
  }

  /** A node without the attribute is as bad as a spread can make it. */
  boostOf(place: number): number {
    return this.#values[place]?.boost ?? -1
  }

  #desiredCounts({ SpreadTarget: targets }: Spread): ReadonlyMap<string, number> | undefined {
    if (targets === null || targets.length === 0) return undefined
    const desired = new Map(targets.map((t) => [t.Value, (t.Percent / 100) * this.#count]))
    const rest = 100 - targets.reduce((sum, target) => sum + target.Percent, 0)
    if (rest > 0 && !desired.has(ANY_VALUE)) desired.set(ANY_VALUE, (rest / 100) * this.#count)
    return desired
  }

  #weighTargets(): void {
    let lowest = -1
    for (const value of this.#values) {
      const { desired, used } = value
      if (desired === undefined || desired === 0) continue
      value.boost = ((desired - (used + 1)) / desired) * this.#share
      lowest = Math.min(lowest, value.boost)
    }
    // A value that should have none is never better than one that has too many.
    for (const value of this.#values)
      if (value.desired === undefined) value.boost = -1
      else if (value.desired === 0) value.boost = lowest
  }

  /** Only values that have allocations count: the others are to get some, not to set the mark. */
  #weighEvenly(): void {
    let min = Infinity
    let max = 0
    for (const { used } of this.#values) {
      if (used > 0 && used < min) min = used
      if (used > max) max = used
    }
    for (const value of this.#values) value.boost = evenBoost(value.used, min, max)
  }
}

function evenBoost(used: number, min: number, max: number): number {
  if (max === 0) return 0
  if (used !== min) return (min - used) / min
  return min === max ? -1 : (max - min) / min
}
