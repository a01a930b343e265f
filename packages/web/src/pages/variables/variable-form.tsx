import { useState } from 'react'
import { ApiError } from '@reeve/sdk'
import { ActionButton } from '../../components/action-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { useApiAction } from '../../data/api-action.ts'
import type { VariableName } from '../../session/acl-permissions.ts'
import { EMPTY_ROW, type ItemRow, toItems } from './items.ts'

interface ItemEditorProps {
  readonly rows: readonly ItemRow[]
  readonly onChange: (rows: readonly ItemRow[]) => void
}

/** The items of a variable as rows of key and value. */
export function ItemEditor({ rows, onChange }: ItemEditorProps) {
  const updateRow = (index: number, changes: Partial<ItemRow>) =>
    onChange(rows.map((row, rowIndex) => (rowIndex === index ? { ...row, ...changes } : row)))
  return (
    <>
      {rows.map((row, index) => (
        // Rows have no key while it is being typed.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index} className="row item-row">
          <input
            className="mono"
            aria-label={`Key of item ${index + 1}`}
            placeholder="key"
            spellCheck={false}
            value={row.key}
            onChange={(event) => updateRow(index, { key: event.target.value })}
          />
          <textarea
            className="mono"
            aria-label={`Value of item ${index + 1}`}
            placeholder="value"
            spellCheck={false}
            rows={Math.min(8, row.value.split('\n').length)}
            value={row.value}
            onChange={(event) => updateRow(index, { value: event.target.value })}
          />
          <button
            type="button"
            className="icon-button"
            onClick={() => onChange(rows.filter((_, rowIndex) => rowIndex !== index))}
          >
            <Icon name="close" label={`Remove item ${index + 1}`} />
          </button>
        </div>
      ))}
      <div>
        <ActionButton onAction={() => onChange([...rows, EMPTY_ROW])}>Add an item</ActionButton>
      </div>
    </>
  )
}

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
      successMessage: `${path} is saved.`,
      handlesError: (error) => {
        setConflict(isConflict(error))
        return isConflict(error)
      },
    })
    return result !== undefined
  }
  return { write, hasConflict, clearConflict: () => setConflict(false) }
}
