import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'

interface HeapEntry {
  readonly id: string
  readonly heapMs: number
}

interface DeadlineRecord {
  dueMs: number
  /** Time of its current heap entry, not later than the deadline. Other entries are stale. */
  heapMs: number
}

/**
 * Deadline heap with lazy updates: extending a deadline only updates its record; the heap entry is
 * corrected when it is popped. A heartbeat is therefore O(1).
 */
export class HeartbeatDeadlines {
  readonly #records = new Map<string, DeadlineRecord>()
  readonly #heap = new Heap<HeapEntry>((a, b) => a.heapMs - b.heapMs || compareText(a.id, b.id))

  /** Lower bound of the next deadline; undefined if there is none. */
  get nextMs(): number | undefined {
    return this.#heap.peek()?.heapMs
  }

  set(id: string, dueMs: number): void {
    const record = this.#records.get(id)
    if (record !== undefined && record.heapMs <= dueMs) {
      record.dueMs = dueMs
      return
    }
    this.#records.set(id, { dueMs, heapMs: dueMs })
    this.#heap.push({ id, heapMs: dueMs })
  }

  /** Removes and returns one that is due; undefined if none is. */
  takeDue(nowMs: number): string | undefined {
    for (let first = this.#heap.peek(); first !== undefined; first = this.#heap.peek()) {
      if (first.heapMs > nowMs) return undefined
      this.#heap.pop()
      const { id, heapMs } = first
      const record = this.#records.get(id)
      if (record?.heapMs !== heapMs) continue
      if (record.dueMs <= nowMs) {
        this.#records.delete(id)
        return id
      }
      record.heapMs = record.dueMs
      this.#heap.push({ id, heapMs: record.dueMs })
    }
    return undefined
  }
}
