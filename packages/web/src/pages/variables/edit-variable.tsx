import type { Variable } from '@reeve/contract'
import { useState } from 'react'
import { variableDisabledReason } from '../../actions/variable-can.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Panel } from '../../parts/panel.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { ItemEditor } from './item-editor.tsx'
import { rowsError, toRows } from './items.ts'
import { useVariableWrite } from './use-variable-write.ts'

interface EditVariableProps {
  readonly variable: Variable
  /** Reloads the variable after a conflict. */
  readonly refresh: () => Promise<unknown>
}

/** Edits the items; the write fails if the variable has changed meanwhile (`cas`). */
export function EditVariable({ variable, refresh }: EditVariableProps) {
  const { permissions } = useSession()
  const { Namespace: namespace, Path: path, Lock: lock } = variable
  // The modify index when the editing began; `variable` follows changes by others.
  const [baseIndex, setBaseIndex] = useState(variable.ModifyIndex)
  const [rows, setRows] = useState(() => toRows(variable.Items))
  const { write, hasConflict, clearConflict } = useVariableWrite({ namespace, path })
  const disabledReason =
    variableDisabledReason.write({ namespace, path, lock }, permissions) ?? rowsError(rows)
  const stopEditing = () => navigate(hrefWith({ edit: undefined }))
  const save = async (index: number) => {
    if (await write(rows, index)) stopEditing()
    else await refresh()
  }
  const reloadRows = () => {
    setRows(toRows(variable.Items))
    setBaseIndex(variable.ModifyIndex)
    clearConflict()
  }
  return (
    <Panel title="Edit the items">
      <form className="stack" onSubmit={(event) => event.preventDefault()}>
        <ItemEditor rows={rows} onChange={setRows} />
        {hasConflict && (
          <div className="note tone-warn" role="alert">
            <p>
              The variable was updated while you were editing (index {baseIndex} is now{' '}
              {variable.ModifyIndex}). Your changes are not saved yet.
            </p>
            <div className="row">
              <ActionButton onAction={reloadRows}>Use theirs</ActionButton>
              <ActionButton
                kind="danger"
                disabledReason={disabledReason}
                onAction={() => save(variable.ModifyIndex)}
              >
                Overwrite with mine
              </ActionButton>
            </div>
          </div>
        )}
        <div className="row">
          <ActionButton
            kind="primary"
            disabledReason={disabledReason}
            onAction={() => save(baseIndex)}
            isSubmit
          >
            Save
          </ActionButton>
          <button type="button" className="button" onClick={stopEditing}>
            Cancel
          </button>
        </div>
      </form>
    </Panel>
  )
}
