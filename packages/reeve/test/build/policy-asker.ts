import { Judge, type PolicyAsker } from '../../src/policy/index.ts'

/**
 * Reads policies here and now: a thread of its own takes a second to start, which most tests have
 * no use for. It is not for tests that ask policies.
 */
export function aPolicyReader(): PolicyAsker {
  return {
    ask: () => Promise.reject(new Error('this asker only reads policies')),
    diagnose: async (policy) => new Judge().diagnose(policy),
  }
}
