import { LruCache } from '@reeve/kit/lru-cache.ts'
import { LIMITS } from '../../model/index.ts'
import type { PolicyDefinition } from '../../policy/index.ts'
import type { EnforcedPolicy, PolicySource } from './policy-source.ts'

/** Other systems prefix `_var` with their own name; see `policy/native-input.ts`. */
const VARIABLE_IMPORT_PATTERN = /\b[a-z]+_var\b/

/** Policy code in the form used for evaluation. */
export interface CachedPolicy {
  readonly code: PolicyDefinition
  /** True if it may read variables, which are collected only then. */
  readonly readsVariables: boolean
}

/** Caches policy code by hash, so entries never become stale. */
export class PolicyCodeCache {
  readonly #source: Pick<PolicySource, 'readCode'>
  readonly #cache = new LruCache<string, CachedPolicy>({
    weightMax: LIMITS.policyTextCharsMax,
    countMax: LIMITS.policyTextsMax,
    weigh: (_, { code }) => code.code.length,
  })

  constructor(source: Pick<PolicySource, 'readCode'>) {
    this.#source = source
  }

  /** Undefined if the code is no longer stored. */
  async find(policy: EnforcedPolicy): Promise<CachedPolicy | undefined> {
    const { codeHash, kind, name, query } = policy
    const key = JSON.stringify([codeHash, kind, name, query])
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const code = await this.#source.readCode(codeHash)
    if (code === undefined) return undefined
    const readsVariables = kind === 'native' && VARIABLE_IMPORT_PATTERN.test(code)
    const entry: CachedPolicy = { code: { name, kind, query, code }, readsVariables }
    this.#cache.set(key, entry)
    return entry
  }
}
