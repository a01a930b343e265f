/**
 * What clients did to one register: a job whose index guards its next version. A value is written
 * once in a history, so that whoever reads it says which write it was.
 */
export type Step =
  | {
      readonly kind: 'write'
      readonly value: string
      /** `EnforceIndex` with this `JobModifyIndex`, 0: it must not exist. Undefined: not asked. */
      readonly expected: number | undefined
    }
  | { readonly kind: 'read' }

/** What the client was told. */
export type Told =
  /** The write has this index. */
  | { readonly kind: 'written'; readonly index: number }
  /** The index was another: nothing was written. */
  | { readonly kind: 'conflict' }
  | { readonly kind: 'found'; readonly value: string; readonly index: number }
  | { readonly kind: 'absent' }
  /** No answer, or one that leaves open what became of it. */
  | { readonly kind: 'unknown' }

export interface Operation {
  readonly client: string
  readonly step: Step
  readonly told: Told
  /** Its place in the order of all beginnings and ends. */
  readonly began: number
  /** Infinity when nobody knows that it is over. */
  readonly ended: number
}

/** Notes who asked what when. Beginnings and ends are numbered in the order they happen in. */
export class HistoryRecorder {
  readonly #registers = new Map<string, Map<number, Operation>>()
  #clock = 0

  /** Runs one operation on a register. A rejection is an unknown outcome. */
  async record({ client, register, step }: Asked, ask: () => Promise<Told>): Promise<Told> {
    const began = ++this.#clock
    const history = this.#history(register)
    // Until it is answered, it may have happened.
    history.set(began, { client, step, told: { kind: 'unknown' }, began, ended: Infinity })
    const told = await ask().catch((): Told => ({ kind: 'unknown' }))
    if (told.kind !== 'unknown')
      history.set(began, { client, step, told, began, ended: ++this.#clock })
    return told
  }

  /** Operations by register; a read that was not answered says nothing and is left out. */
  get histories(): ReadonlyMap<string, readonly Operation[]> {
    const isTelling = ({ step, told }: Operation): boolean =>
      step.kind === 'write' || told.kind !== 'unknown'
    return new Map(
      [...this.#registers].map(([name, history]) => [
        name,
        [...history.values()].filter(isTelling),
      ]),
    )
  }

  #history(register: string): Map<number, Operation> {
    const known = this.#registers.get(register)
    if (known !== undefined) return known
    const made = new Map<number, Operation>()
    this.#registers.set(register, made)
    return made
  }
}

export interface Asked {
  readonly client: string
  readonly register: string
  readonly step: Step
}
