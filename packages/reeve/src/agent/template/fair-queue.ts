/** Where an item waits. */
export interface QueueOwner {
  readonly namespace: string
  readonly job: string
}

/**
 * Items that wait for their turn: namespaces take turns, inside each its jobs take turns, and a job
 * has its items in order. A job with many items delays its own, not those of others.
 */
export class FairQueue<Item extends { readonly owner: QueueOwner }> {
  readonly #namespaces = new Map<string, Map<string, Item[]>>()

  push(item: Item): void {
    const { namespace, job } = item.owner
    const jobs = this.#namespaces.get(namespace) ?? new Map<string, Item[]>()
    const items = jobs.get(job) ?? []
    items.push(item)
    this.#namespaces.set(namespace, jobs.set(job, items))
  }

  /** The next item of an owner that may have a turn now; undefined when there is none. */
  take(mayRun: (owner: QueueOwner) => boolean): Item | undefined {
    for (const [namespace, jobs] of this.#namespaces) {
      for (const [job, items] of jobs) {
        if (!mayRun({ namespace, job })) continue
        const item = items.shift()
        // Maps keep the order of insertion: whoever had a turn goes to the end.
        jobs.delete(job)
        if (items.length > 0) jobs.set(job, items)
        this.#namespaces.delete(namespace)
        if (jobs.size > 0) this.#namespaces.set(namespace, jobs)
        return item
      }
    }
    return undefined
  }

  remove(item: Item): void {
    const { namespace, job } = item.owner
    const jobs = this.#namespaces.get(namespace)
    const left = jobs?.get(job)?.filter((one) => one !== item) ?? []
    if (left.length > 0) jobs?.set(job, left)
    else jobs?.delete(job)
    if (jobs?.size === 0) this.#namespaces.delete(namespace)
  }

  /** Takes everything. */
  drain(): readonly Item[] {
    const all = [...this.#namespaces.values()].flatMap((jobs) => [...jobs.values()].flat())
    this.#namespaces.clear()
    return all
  }
}
