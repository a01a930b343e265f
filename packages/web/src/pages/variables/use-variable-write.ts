import { ApiError } from '@reeve/sdk'
import { useState } from 'react'
import { useAct } from '../../data/use-act.ts'
import type { VariableName } from '../../session/rights.ts'
import { itemsOf, type ItemRow } from './items.ts'

/** What is there is another one than was read. */
function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409
}

/**
 * Stores a variable if it is still the one with this index; 0 if there must be none. A conflict is
 * the page's to show, and not the server's answer: that holds the values.
 */
export function useVariableWrite({ namespace, path }: VariableName) {
  const act = useAct()
  const [hasConflict, setConflict] = useState(false)
  const write = async (rows: readonly ItemRow[], checkIndex: number): Promise<boolean> => {
    setConflict(false)
    const stored = await act({
      call: (api) =>
        api.v1.writeVariable({
          params: { path },
          query: { namespace, cas: String(checkIndex) },
          body: { Namespace: namespace, Path: path, Items: itemsOf(rows) },
        }),
      done: `${path} is stored.`,
      isShown: (error) => {
        setConflict(isConflict(error))
        return isConflict(error)
      },
    })
    return stored !== undefined
  }
  return { write, hasConflict, forget: () => setConflict(false) }
}
