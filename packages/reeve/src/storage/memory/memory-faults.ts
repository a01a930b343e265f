/** Injects a fault into the next append. Each fault occurs once. */
export class FaultInjector {
  #next: InjectedFault | undefined

  /** The next append is held, and its entries are not durable, until `release` is called. */
  blockNext(): BlockedAppend {
    const started = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.#next = { kind: 'slow', started: started.resolve, released: released.promise }
    return { started: started.promise, release: released.resolve }
  }

  /** The next append rejects with `storage-failed`. A reopening finds all of it or none. */
  failNext(survives: 'all' | 'none'): void {
    this.#next = { kind: 'torn', survives }
  }

  /** The next append rejects with `storage-full` and leaves nothing. */
  fillDisk(): void {
    this.#next = { kind: 'full' }
  }

  /** The next append rejects with `storage-fenced`, as if another leader had written. */
  fenceNext(): void {
    this.#next = { kind: 'fenced' }
  }

  takeNext(): InjectedFault | undefined {
    const next = this.#next
    this.#next = undefined
    return next
  }
}

interface BlockedAppend {
  /** Resolves when the append has been called. */
  readonly started: Promise<void>
  readonly release: () => void
}

export type InjectedFault =
  | { readonly kind: 'slow'; readonly started: () => void; readonly released: Promise<void> }
  | { readonly kind: 'torn'; readonly survives: 'all' | 'none' }
  | { readonly kind: 'full' }
  | { readonly kind: 'fenced' }
