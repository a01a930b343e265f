import { WorkerTaskHandler } from '../../src/judging/worker-tasks.ts'
import { InProcessEngine, type PolicyEngine } from '../../src/policy/index.ts'

/**
 * Reads policies here and now: a thread of its own takes a second to start, which most tests have
 * no use for. It is not for tests that ask policies.
 */
export function aPolicyReader(): PolicyEngine {
  const desk = new WorkerTaskHandler({ clock: { nowMs: () => 0 }, version: '', offsetAt: () => 0 })
  return {
    evaluate: () => Promise.reject(new Error('this asker only reads policies')),
    diagnose: async (policy) => new InProcessEngine().diagnose(policy),
    readSetArchive: async (archive, set) => {
      const question = { kind: 'read-archive', archive, set } as const
      const outcome = desk.run({ codes: [], forget: [], question })
      if (outcome.kind !== 'archive-read') throw new Error('an archive was to be read')
      return outcome.read
    },
  }
}
