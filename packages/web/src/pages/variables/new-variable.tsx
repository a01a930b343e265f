import { useState } from 'react'
import { mayMakeVariable, variableCan } from '../../actions/variable-can.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { TextField } from '../../parts/form.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Refused } from '../../parts/refused.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/variables.css'
import { ItemEditor } from './item-editor.tsx'
import { faultIn, rowsOf } from './items.ts'
import { useVariableWrite } from './use-variable-write.ts'

/** A variable where none is yet. */
export function NewVariablePage({ search }: PageProps<'/new-variable'>) {
  const { rights } = useSession()
  const namespace = search.get('namespace') ?? 'default'
  const refusal = mayMakeVariable(rights)
  return (
    <>
      <PageHead
        title="New variable"
        crumbs={[{ text: 'Variables', href: paths.variables({ namespace }) }]}
      />
      {refusal === undefined ? <VariableForm initial={namespace} /> : <Refused reason={refusal} />}
      <CommandLine
        cli={`reeve var put --namespace ${quoted(namespace)} --check-index 0 PATH KEY=VALUE`}
        call={{
          method: 'PUT',
          path: '/v1/var/PATH',
          query: { namespace, cas: 0 },
          body: { Items: { KEY: 'VALUE' } },
        }}
      />
    </>
  )
}

function VariableForm({ initial }: { readonly initial: string }) {
  const { rights } = useSession()
  const [namespace, setNamespace] = useState(initial)
  const [path, setPath] = useState('')
  const [rows, setRows] = useState(() => rowsOf({}))
  const { write, hasConflict } = useVariableWrite({ namespace, path })
  const refusal =
    (path === '' ? 'Enter a path.' : undefined) ??
    variableCan.write({ namespace, path, lock: undefined }, rights) ??
    faultIn(rows)
  const make = async () => {
    if (await write(rows, 0)) navigate(paths.variable({ namespace, id: path }))
  }
  return (
    <form className="stack" onSubmit={(event) => event.preventDefault()}>
      <TextField
        label="Path"
        value={path}
        onChange={setPath}
        hint="Names with slashes between them: apps/web/db."
      />
      <TextField label="Namespace" value={namespace} onChange={setNamespace} />
      <Panel title="Items">
        <div className="stack">
          <ItemEditor rows={rows} onChange={setRows} />
        </div>
      </Panel>
      {hasConflict && (
        <p className="note tone-warn" role="alert">
          There is a variable with this path already.{' '}
          <Link href={paths.variable({ namespace, id: path })}>Look at it</Link>, or choose another
          path.
        </p>
      )}
      <div>
        <ActionButton kind="primary" refusal={refusal} onAct={make} isSubmit>
          Create the variable
        </ActionButton>
      </div>
    </form>
  )
}
