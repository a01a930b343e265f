/** Queue to which an item belongs. */
export interface TemplateQueueOwner {
  readonly namespace: string
  readonly job: string
}

/**
 * Fair queue: round-robin between namespaces, then between the jobs of a namespace, in order within
 * a job. A job with many items only delays its own.
 */
export class TemplateQueue<Item extends { readonly owner: TemplateQueueOwner }> {
  readonly #namespaces = new Map<string, Map<string, Item[]>>()

  push(item: Item): void {
    const { namespace, job } = item.owner
    const jobs = this.#namespaces.get(namespace) ?? new Map<string, Item[]>()
    const items = jobs.get(job) ?? []
    items.push(item)
    this.#namespaces.set(namespace, jobs.set(job, items))
  }

  /** The next item of an eligible owner; undefined if there is none. */
  shift(mayRun: (owner: TemplateQueueOwner) => boolean): Item | undefined {
    for (const [namespace, jobs] of this.#namespaces) {
      for (const [job, items] of jobs) {
        if (!mayRun({ namespace, job })) continue
        const item = items.shift()
        // Maps keep insertion order: move the owner to the end.
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
    const remaining = jobs?.get(job)?.filter((queued) => queued !== item) ?? []
    if (remaining.length > 0) jobs?.set(job, remaining)
    else jobs?.delete(job)
    if (jobs?.size === 0) this.#namespaces.delete(namespace)
  }

  /** Removes and returns all items. */
  drain(): readonly Item[] {
    const all = [...this.#namespaces.values()].flatMap((jobs) => [...jobs.values()].flat())
    this.#namespaces.clear()
    return all
  }
}
