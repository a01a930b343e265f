import type { Variable } from '@reeve/contract'
import { useState } from 'react'
import { variableCan } from '../../actions/variable-can.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Panel } from '../../parts/panel.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { ItemEditor } from './item-editor.tsx'
import { faultIn, rowsOf } from './items.ts'
import { useVariableWrite } from './use-variable-write.ts'

interface EditVariableProps {
  readonly variable: Variable
  /** Reads it again: somebody else has written it. */
  readonly refresh: () => Promise<unknown>
}

/** Other values, stored only if nobody wrote others meanwhile (`cas`). */
export function EditVariable({ variable, refresh }: EditVariableProps) {
  const { rights } = useSession()
  const { Namespace: namespace, Path: path, Lock: lock } = variable
  // What the editing began with: the variable itself follows what others do.
  const [checked, setChecked] = useState(variable.ModifyIndex)
  const [rows, setRows] = useState(() => rowsOf(variable.Items))
  const { write, hasConflict, forget } = useVariableWrite({ namespace, path })
  const refusal = variableCan.write({ namespace, path, lock }, rights) ?? faultIn(rows)
  const leave = () => navigate(hrefWith({ edit: undefined }))
  const save = async (index: number) => {
    if (await write(rows, index)) leave()
    else await refresh()
  }
  const takeTheirs = () => {
    setRows(rowsOf(variable.Items))
    setChecked(variable.ModifyIndex)
    forget()
  }
  return (
    <Panel title="Edit the items">
      <form className="stack" onSubmit={(event) => event.preventDefault()}>
        <ItemEditor rows={rows} onChange={setRows} />
        {hasConflict && (
          <div className="note tone-warn" role="alert">
            <p>
              Somebody stored other values while you edited (index {checked} is now{' '}
              {variable.ModifyIndex}). Nothing of yours is stored, and nothing of it is lost.
            </p>
            <div className="row">
              <ActionButton onAct={takeTheirs}>Use theirs</ActionButton>
              <ActionButton
                kind="danger"
                refusal={refusal}
                onAct={() => save(variable.ModifyIndex)}
              >
                Overwrite with mine
              </ActionButton>
            </div>
          </div>
        )}
        <div className="row">
          <ActionButton kind="primary" refusal={refusal} onAct={() => save(checked)} isSubmit>
            Store
          </ActionButton>
          <button type="button" className="button" onClick={leave}>
            Cancel
          </button>
        </div>
      </form>
    </Panel>
  )
}
