import type { FastifyInstance } from 'fastify'

/**
 * How many go on together. As few as eight of them make a request as cheap as sixty-four do; with
 * more, what they committed waits longer to be written, and everybody else for a turn. With fewer,
 * those that come last are behind by more turns than the others (decision 0053).
 */
export const REQUESTS_IN_STEP = 32

/**
 * Lets requests that came in one turn go on together, once all of them are read: each step of the
 * work is then done for all of them before the next step is done for any, as far as ticks and
 * promises take turns. The code of one step stays in the processor's caches, which hold a fraction
 * of what a request runs through from its first byte to its answer; one request after the other
 * made a registration by half dearer (decision 0050).
 */
export function goInStep(app: FastifyInstance): void {
  const waiting: (() => void)[] = []
  const goOn = (): void => {
    const together = waiting.splice(0, REQUESTS_IN_STEP)
    if (waiting.length > 0) setImmediate(goOn)
    for (const next of together) next()
  }
  app.addHook('onRequest', (_request, _reply, done) => {
    if (waiting.push(done) === 1) setImmediate(goOn)
  })
}
