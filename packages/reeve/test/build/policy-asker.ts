import { JudgingDesk } from '../../src/judging/judging-task.ts'
import { Judge, type PolicyAsker } from '../../src/policy/index.ts'

/**
 * Reads policies here and now: a thread of its own takes a second to start, which most tests have
 * no use for. It is not for tests that ask policies.
 */
export function aPolicyReader(): PolicyAsker {
  const desk = new JudgingDesk({ clock: { nowMs: () => 0 }, version: '', offsetAt: () => 0 })
  return {
    ask: () => Promise.reject(new Error('this asker only reads policies')),
    diagnose: async (policy) => new Judge().diagnose(policy),
    readSetArchive: async (archive, set) => {
      const question = { kind: 'read-archive', archive, set } as const
      const outcome = desk.run({ codes: [], forget: [], question })
      if (outcome.kind !== 'archive-read') throw new Error('an archive was to be read')
      return outcome.read
    },
  }
}
