import { ApiError } from '@reeve/sdk'
import { useState } from 'react'
import { useApiAction } from '../../data/use-act.ts'
import type { VariableName } from '../../session/rights.ts'
import { toItems, type ItemRow } from './items.ts'

/** Reports whether the variable was modified since it was read. */
function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409
}

/**
 * Returns a function that writes a variable if its modify index is unchanged; 0 requires that it
 * does not exist. The page shows conflicts, because the response contains the values.
 */
export function useVariableWrite({ namespace, path }: VariableName) {
  const callApi = useApiAction()
  const [hasConflict, setConflict] = useState(false)
  const write = async (rows: readonly ItemRow[], checkIndex: number): Promise<boolean> => {
    setConflict(false)
    const result = await callApi({
      call: (api) =>
        api.v1.writeVariable({
          params: { path },
          query: { namespace, cas: String(checkIndex) },
          body: { Namespace: namespace, Path: path, Items: toItems(rows) },
        }),
      successMessage: `${path} is stored.`,
      handlesError: (error) => {
        setConflict(isConflict(error))
        return isConflict(error)
      },
    })
    return result !== undefined
  }
  return { write, hasConflict, clearConflict: () => setConflict(false) }
}
