import { ApiError } from '@reeve/sdk'

const NOT_FOUND = 404

/** Returns the result of a request, or undefined for 404. */
export async function undefinedIfNotFound<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === NOT_FOUND) return undefined
    throw thrown
  }
}
