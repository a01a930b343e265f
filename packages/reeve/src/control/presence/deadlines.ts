import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'

interface Entry {
  readonly id: string
  readonly atMs: number
}

interface Known {
  dueMs: number
  /** Where the heap has it: no later than it is due. Another entry of it is a stale one. */
  atMs: number
}

/**
 * When each of many is due. Putting one off costs nothing but a write to its record: the heap
 * learns of it when the old time has come. So ten thousand heartbeats are ten thousand such writes,
 * and a look at who is due concerns those alone whose time had come.
 */
export class Deadlines {
  readonly #known = new Map<string, Known>()
  readonly #heap = new Heap<Entry>((a, b) => a.atMs - b.atMs || compareText(a.id, b.id))

  /** A time before which nobody is due; undefined when nobody ever is. */
  get nextMs(): number | undefined {
    return this.#heap.peek()?.atMs
  }

  set(id: string, dueMs: number): void {
    const known = this.#known.get(id)
    if (known !== undefined && known.atMs <= dueMs) {
      known.dueMs = dueMs
      return
    }
    this.#known.set(id, { dueMs, atMs: dueMs })
    this.#heap.push({ id, atMs: dueMs })
  }

  /** Forgets one whose time has come, and answers which; undefined when nobody is due. */
  take(nowMs: number): string | undefined {
    for (let first = this.#heap.peek(); first !== undefined; first = this.#heap.peek()) {
      if (first.atMs > nowMs) return undefined
      this.#heap.pop()
      const { id, atMs } = first
      const known = this.#known.get(id)
      if (known?.atMs !== atMs) continue
      if (known.dueMs <= nowMs) {
        this.#known.delete(id)
        return id
      }
      known.atMs = known.dueMs
      this.#heap.push({ id, atMs: known.dueMs })
    }
    return undefined
  }
}
