import type { TableName, TableObserver } from './schema/tables.ts'

/** Observers of one table. They receive its rows only, which the types cannot express. */
export type Observers = readonly TableObserver<never>[]

const NO_OBSERVERS: Observers = []

/** The observers of all tables. */
export class TableObservers {
  readonly #observers = new Map<TableName, Observers>()

  /** Reports changes of a table to an observer until the returned function is called. */
  add<N extends TableName>(table: N, observer: TableObserver<N>): () => void {
    // An observer receives rows of its own table only.
    const typedObserver = observer as TableObserver<never>
    this.#observers.set(table, [...this.of(table), typedObserver])
    return () => {
      const others = this.of(table).filter((one) => one !== typedObserver)
      this.#observers.set(table, others)
    }
  }

  of(table: TableName): Observers {
    return this.#observers.get(table) ?? NO_OBSERVERS
  }

  /** Tells all observers that commits were rolled back. */
  reset(): void {
    for (const observer of [...this.#observers.values()].flat()) observer.reset()
  }
}

export function notifyObservers(
  observers: Observers,
  before: object | undefined,
  after: object | undefined,
): void {
  // Rows of the table that the observers subscribed to.
  for (const observer of observers) observer.changed(before as never, after as never)
}
