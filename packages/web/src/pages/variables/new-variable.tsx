import { useState } from 'react'
import { createVariableDisabledReason, variableDisabledReason } from '../../permissions/cluster.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { TextField } from '../../components/form.tsx'
import { PageHeader, Panel } from '../../components/page.tsx'
import { PermissionNotice } from '../../components/notices.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/variables.css'
import { ItemEditor, useVariableWrite } from './variable-form.tsx'
import { rowsError, toRows } from './items.ts'

/** The page to create a variable. */
export function NewVariablePage({ search }: PageProps<'/new-variable'>) {
  const { permissions } = useSession()
  const namespace = search.get('namespace') ?? 'default'
  const disabledReason = createVariableDisabledReason(permissions)
  return (
    <>
      <PageHeader
        title="New variable"
        crumbs={[{ text: 'Variables', href: paths.variables({ namespace }) }]}
      />
      {disabledReason === undefined ? (
        <VariableForm initialNamespace={namespace} />
      ) : (
        <PermissionNotice reason={disabledReason} />
      )}
      <CliAndApiPanel
        cli={`reeve var put --namespace ${quoteShellArg(namespace)} --check-index 0 PATH KEY=VALUE`}
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

function VariableForm({ initialNamespace }: { readonly initialNamespace: string }) {
  const { permissions } = useSession()
  const [namespace, setNamespace] = useState(initialNamespace)
  const [path, setPath] = useState('')
  const [rows, setRows] = useState(() => toRows({}))
  const { write, hasConflict } = useVariableWrite({ namespace, path })
  const disabledReason =
    (path === '' ? 'Enter a path.' : undefined) ??
    variableDisabledReason.write({ namespace, path, lock: undefined }, permissions) ??
    rowsError(rows)
  const create = async () => {
    if (await write(rows, 0)) navigate(paths.variable({ namespace, id: path }))
  }
  return (
    <form className="stack" onSubmit={(event) => event.preventDefault()}>
      <TextField
        label="Path"
        value={path}
        onChange={setPath}
        hint="Slash-separated, such as apps/web/db."
      />
      <TextField label="Namespace" value={namespace} onChange={setNamespace} />
      <Panel title="Items">
        <div className="stack">
          <ItemEditor rows={rows} onChange={setRows} />
        </div>
      </Panel>
      {hasConflict && (
        <p className="note tone-warn" role="alert">
          A variable with this path already exists.{' '}
          <Link href={paths.variable({ namespace, id: path })}>Open it</Link>, or choose another
          path.
        </p>
      )}
      <div>
        <ActionButton kind="primary" disabledReason={disabledReason} onAction={create} isSubmit>
          Create the variable
        </ActionButton>
      </div>
    </form>
  )
}
