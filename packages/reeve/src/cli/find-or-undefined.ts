import { ApiError } from '@reeve/sdk'

const NOT_FOUND = 404

/** What a call finds; undefined when there is no such thing. */
export async function findOrUndefined<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === NOT_FOUND) return undefined
    throw thrown
  }
}
