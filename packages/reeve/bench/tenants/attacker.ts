/**
 * The attacker, in a separate process per attack, whose resources end with it. It has a lower
 * priority, because a real attacker has its own machine.
 */
import { once, setMaxListeners } from 'node:events'
import { constants, getPriority, setPriority } from 'node:os'
import type { AttackTarget } from './attack.ts'
import { attacks } from './attacks/index.ts'

export interface AttackOrder {
  readonly attack: string
  readonly target: AttackTarget
  readonly durationMs: number
}

/** `begun`: the attack itself starts. `over`: the results. */
export type AttackerMessage =
  | { readonly kind: 'begun' }
  | { readonly kind: 'over'; readonly answers: Readonly<Record<string, number>> }
  | { readonly kind: 'failed'; readonly reason: string }

setPriority(getPriority() + constants.priority.PRIORITY_BELOW_NORMAL)
process.on('disconnect', () => process.exit())
process.once('message', (order: AttackOrder) => {
  void attack(order).catch((thrown: unknown) => tell({ kind: 'failed', reason: String(thrown) }))
})

async function attack({ attack: name, target, durationMs }: AttackOrder): Promise<void> {
  const found = attacks.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no attack "${name}"`)
  const answers: Record<string, number> = {}
  const end = new AbortController()
  // Every socket listens for the abort.
  setMaxListeners(0, end.signal)
  const count = (what: string): void => {
    answers[what] = (answers[what] ?? 0) + 1
  }
  const run = await found.prepare({ target, signal: end.signal, count })
  tell({ kind: 'begun' })
  setTimeout(() => end.abort(), durationMs)
  await run()
  if (!end.signal.aborted) await once(end.signal, 'abort')
  tell({ kind: 'over', answers })
}

function tell(message: AttackerMessage): void {
  process.send?.(message)
}
