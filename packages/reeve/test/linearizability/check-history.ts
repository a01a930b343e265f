import type { Operation } from './history.ts'

/** Far more than a history of honest servers needs: a search that comes here is given up. */
const STEPS_MAX = 5_000_000

export type Verdict =
  | { readonly kind: 'linearizable' }
  | { readonly kind: 'not-linearizable'; readonly why: string }
  /** The search was given up. */
  | { readonly kind: 'undecided' }

/**
 * Whether the operations on one register can be put into an order that a single register could
 * have lived, in which none stands before one that had ended when it began. Registers are
 * independent of each other, so a history is linearizable when each of its registers' is.
 *
 * The search takes the next operation from those that could be next, goes on from there, and takes
 * another when it gets stuck; what it has seen to lead nowhere (which operations were taken, and
 * what the register held then) it does not try again. An operation without an answer may be taken
 * at any time after it began, or never.
 */
export function checkHistory(history: readonly Operation[], stepsMax = STEPS_MAX): Verdict {
  const indexes = indexesByValue(history)
  if (typeof indexes === 'string') return { kind: 'not-linearizable', why: indexes }
  return new Search(history, indexes).run(stepsMax)
}

/** The index of every value that anybody was told, or what two of them were told differently. */
function indexesByValue(history: readonly Operation[]): ReadonlyMap<string, number> | string {
  const indexes = new Map<string, number>()
  for (const operation of history) {
    const { step, told } = operation
    const value = told.kind === 'found' ? told.value : step.kind === 'write' ? step.value : ''
    if (told.kind !== 'found' && told.kind !== 'written') continue
    const before = indexes.get(value)
    if (before !== undefined && before !== told.index)
      return `${value} has index ${before} and ${told.index}`
    indexes.set(value, told.index)
  }
  return indexes
}

/** What the register holds; the empty text when it was never written. */
type Value = string
const NOTHING: Value = ''

interface Taken {
  readonly at: number
  /** What it held before. */
  readonly before: Value
}

class Search {
  /** In the order in which they began: first those that were answered, then the others. */
  readonly #operations: readonly Operation[]
  /** How many of them were answered: each of those has to be taken. */
  readonly #answered: number
  readonly #indexes: ReadonlyMap<string, number>
  readonly #isTaken: boolean[]
  readonly #taken: Taken[] = []
  readonly #seen = new Set<string>()
  #left: number
  /** All answered operations before it are taken. */
  #first = 0
  #value: Value = NOTHING
  /** How far the search came at best, for whoever looks at a failure. */
  #best = { taken: -1, text: '' }

  constructor(history: readonly Operation[], indexes: ReadonlyMap<string, number>) {
    const inOrder = history.toSorted((a, b) => a.began - b.began)
    const answered = inOrder.filter(({ told }) => told.kind !== 'unknown')
    this.#operations = [...answered, ...inOrder.filter(({ told }) => told.kind === 'unknown')]
    this.#answered = answered.length
    this.#left = answered.length
    this.#indexes = indexes
    this.#isTaken = history.map(() => false)
  }

  run(stepsMax: number): Verdict {
    // Where to look for the next operation to take.
    let from = 0
    for (let steps = 0; this.#left > 0; steps++) {
      if (steps >= stepsMax) return { kind: 'undecided' }
      const next = this.#findNext(from)
      if (next !== undefined) {
        this.#take(next)
        from = 0
        continue
      }
      this.#noteBest()
      const last = this.#taken.pop()
      if (last === undefined) return { kind: 'not-linearizable', why: this.#best.text }
      this.#putBack(last)
      from = last.at + 1
    }
    return { kind: 'linearizable' }
  }

  /** The first operation from there on that may be taken now and leads somewhere new. */
  #findNext(from: number): number | undefined {
    while (this.#first < this.#answered && this.#isTaken[this.#first] === true) this.#first += 1
    // Whatever began after the first end of those that are left has to wait for it.
    let endsMin = Infinity
    for (let at = this.#first; at < this.#answered; at++) {
      const operation = this.#operation(at)
      if (operation.began > endsMin) break
      if (this.#isTaken[at] === true) continue
      endsMin = Math.min(endsMin, operation.ended)
      if (at >= from && this.#isNew(at)) return at
    }
    for (let at = Math.max(from, this.#answered); at < this.#operations.length; at++) {
      if (this.#operation(at).began > endsMin) break
      if (this.#isTaken[at] !== true && this.#isNew(at)) return at
    }
    return undefined
  }

  #operation(at: number): Operation {
    const operation = this.#operations[at]
    if (operation === undefined) throw new Error('there are as many as there are')
    return operation
  }

  #isNew(at: number): boolean {
    const after = this.#effectOf(this.#operation(at))
    if (after === undefined) return false
    const key = `${after}\n${this.#takenWith(at)}`
    if (this.#seen.has(key)) return false
    this.#seen.add(key)
    return true
  }

  /** Names the set of taken operations and one more: up to where all are, and those behind. */
  #takenWith(one: number): string {
    const isTaken = (at: number): boolean => at === one || this.#isTaken[at] === true
    let first = this.#first
    while (first < this.#answered && isTaken(first)) first += 1
    // Whatever stands behind one that is not taken had begun when that one ended.
    const endsMin = first < this.#answered ? this.#operation(first).ended : 0
    const behind: number[] = []
    for (let at = first + 1; at < this.#answered && this.#operation(at).began < endsMin; at++)
      if (isTaken(at)) behind.push(at)
    for (let at = this.#answered; at < this.#operations.length; at++)
      if (isTaken(at)) behind.push(at)
    return `${first} ${behind.join(' ')}`
  }

  /** What the register holds after the operation; undefined when it cannot come now. */
  #effectOf({ step, told }: Operation): Value | undefined {
    const index = this.#value === NOTHING ? 0 : this.#indexes.get(this.#value)
    if (step.kind === 'read') {
      const wanted = told.kind === 'found' ? told.value : NOTHING
      return this.#value === wanted ? this.#value : undefined
    }
    // A value that nobody ever saw has an index that nobody can have expected.
    const isMet = step.expected === undefined || step.expected === index
    if (told.kind === 'conflict') return isMet ? undefined : this.#value
    if (!isMet) return undefined
    // The index of a register only grows; of a write without an answer somebody may know it.
    const own = this.#indexes.get(step.value)
    const isBefore = own !== undefined && index !== undefined && own <= index
    return isBefore ? undefined : step.value
  }

  #take(at: number): void {
    const after = this.#effectOf(this.#operation(at))
    if (after === undefined) throw new Error('it was found to fit')
    this.#taken.push({ at, before: this.#value })
    this.#isTaken[at] = true
    this.#value = after
    if (at < this.#answered) this.#left -= 1
  }

  #putBack({ at, before }: Taken): void {
    this.#isTaken[at] = false
    this.#value = before
    if (at >= this.#answered) return
    this.#first = Math.min(this.#first, at)
    this.#left += 1
  }

  #noteBest(): void {
    if (this.#taken.length <= this.#best.taken) return
    const held = this.#value === NOTHING ? 'nothing' : this.#value
    const next = JSON.stringify(this.#operation(this.#first))
    this.#best = {
      taken: this.#taken.length,
      text: `after ${this.#taken.length} operations the register holds ${held}; then: ${next}`,
    }
  }
}

/**
 * The indexes of writes agree with time: one that began when another had ended has the higher one.
 * For writes of all registers together, which share one log.
 */
export function checkIndexOrder(
  histories: ReadonlyMap<string, readonly Operation[]>,
): string | undefined {
  const writes = [...histories.values()]
    .flat()
    .flatMap(({ told, began, ended }) =>
      told.kind === 'written' ? [{ index: told.index, began, ended }] : [],
    )
  const byEnd = writes.toSorted((a, b) => a.ended - b.ended)
  let at = 0
  let highest = 0
  for (const write of writes.toSorted((a, b) => a.began - b.began)) {
    for (
      let ended = byEnd[at];
      ended !== undefined && ended.ended < write.began;
      ended = byEnd[++at]
    )
      highest = Math.max(highest, ended.index)
    if (write.index <= highest) return `${write.index} was given after ${highest}`
  }
  return undefined
}
