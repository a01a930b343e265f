import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import type { Reply } from '@reeve/sdk'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { useApiAction } from '../../data/api-action.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Dialog, NewSecret, useConfirm } from '../../components/dialog.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { DialogForm, Field, TextField } from '../../components/form.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useApiQuery } from '../../data/api-query.ts'
import { dateFromText, formatMinute } from '../../format.ts'
import { teamDisabledReason } from '../../permissions/governance.ts'
import type { Api } from '../../session/api.ts'

interface AuthTokensPanelProps {
  readonly title: string
  readonly tokens: readonly v2.AuthenticationToken[]
  /** Shown without tokens. */
  readonly emptyText: string
  readonly disabledReason: DisabledReason
  /** Adds a column with the holder; absent if all tokens have the same holder. */
  readonly holderOf?: (token: v2.AuthenticationToken) => string
  readonly create?: CreateToken
  readonly hasDescription?: boolean
}

/** A table of governance tokens, without secrets. */
export function AuthTokensPanel(props: AuthTokensPanelProps) {
  const { title, tokens, emptyText, disabledReason, create, hasDescription = true } = props
  const [isCreating, setCreating] = useState(false)
  const action = hasDescription || tokens.length === 0 ? 'New token…' : 'Replace…'
  return (
    <Panel
      title={title}
      isFlush
      actions={
        create !== undefined && (
          <ActionButton disabledReason={disabledReason} onAction={() => setCreating(true)}>
            {action}
          </ActionButton>
        )
      }
    >
      <DataTable
        label={title}
        columns={columnsOf(props)}
        rows={tokens}
        keyOf={({ id }) => id}
        empty={<p className="quiet padded">{emptyText}</p>}
      />
      {isCreating && create !== undefined && (
        <NewAuthToken
          title={`New: ${title}`}
          hasDescription={hasDescription}
          createToken={create}
          onClose={() => setCreating(false)}
        />
      )}
    </Panel>
  )
}

function columnsOf({
  holderOf,
  disabledReason,
}: AuthTokensPanelProps): readonly Column<v2.AuthenticationToken>[] {
  return [
    {
      id: 'description',
      head: 'Token',
      cell: ({ id, attributes }) => attributes.description ?? <code>{id}</code>,
    },
    ...(holderOf === undefined
      ? []
      : [{ id: 'holder', head: 'Holder', width: '20%', cell: holderOf }]),
    {
      id: 'used',
      head: 'Last used',
      width: '112px',
      isExtra: true,
      cell: ({ attributes }) =>
        attributes['last-used-at'] === null ? (
          'never'
        ) : (
          <RelativeTime date={dateFromText(attributes['last-used-at'])} />
        ),
    },
    {
      id: 'made',
      head: 'Created',
      width: '112px',
      isExtra: true,
      cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['created-at'])} />,
    },
    {
      id: 'expires',
      head: 'Expires',
      width: '176px',
      isExtra: true,
      cell: ({ attributes }) => {
        const date = dateFromText(attributes['expired-at'])
        return date === undefined ? 'never' : formatMinute(date)
      },
    },
    {
      id: 'do',
      head: 'Actions',
      width: '112px',
      cell: (token) => <Revoke token={token} disabledReason={disabledReason} />,
    },
  ]
}

interface RevokeProps {
  readonly token: v2.AuthenticationToken
  readonly disabledReason: DisabledReason
}

function Revoke({ token, disabledReason }: RevokeProps) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const name = token.attributes.description ?? token.id
  const revoke = async () => {
    const title = `Revoke ${name}?`
    const body = 'Requests with it are rejected from then on. This cannot be undone.'
    if (!(await confirm({ title, body, action: 'Revoke the token', isDangerous: true }))) return
    await callApi({
      call: (api) => api.v2.deleteAuthenticationToken({ params: { token_id: token.id } }),
      successMessage: `${name} is revoked.`,
    })
  }
  return (
    <ActionButton kind="danger" disabledReason={disabledReason} onAction={revoke}>
      Revoke…<span className="hidden"> {name}</span>
    </ActionButton>
  )
}

type CreateToken = (
  api: Api,
  body: v2.AuthenticationTokenRequest,
) => Promise<Reply<v2.CreatedAuthenticationTokenDocument>>

interface NewAuthTokenProps {
  readonly title: string
  /** Whether tokens have a description; holders of a single token need none. */
  readonly hasDescription: boolean
  readonly createToken: CreateToken
  readonly onClose: () => void
}

/** The dialog for a new governance token; its secret is shown once. */
function NewAuthToken({ title, hasDescription, createToken, onClose }: NewAuthTokenProps) {
  const callApi = useApiAction()
  const [secret, setSecret] = useState<string>()
  const [description, setDescription] = useState('')
  const [lastDay, setLastDay] = useState('')
  const isMissing = hasDescription && description.trim() === ''
  const create = async () => {
    const attributes = {
      ...(hasDescription ? { description: description.trim() } : {}),
      // The end of that day in the time zone of the browser.
      'expired-at': lastDay === '' ? null : new Date(`${lastDay}T23:59:59`).toISOString(),
    }
    const created = await callApi({
      call: (api) => createToken(api, { data: { type: 'authentication-tokens', attributes } }),
      successMessage: 'The token is created.',
    })
    if (created !== undefined) setSecret(created.data.data.attributes.token)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {secret !== undefined ? (
        <NewSecret secret={secret} onClose={onClose} />
      ) : (
        <DialogForm
          action="Create the token"
          disabledReason={isMissing ? 'Enter a description.' : undefined}
          onSubmit={create}
          onClose={onClose}
        >
          {hasDescription && (
            <TextField
              label="Description"
              attribute="description"
              value={description}
              onChange={setDescription}
              hint="Its holder, such as a person or a pipeline."
            />
          )}
          <Field
            label="Last day"
            attribute="expired-at"
            isOptional
            hint="By default the maximum lifetime of the server."
          >
            {(field) => (
              <input
                {...field}
                type="date"
                value={lastDay}
                onChange={(event) => setLastDay(event.target.value)}
              />
            )}
          </Field>
        </DialogForm>
      )}
    </Dialog>
  )
}

interface TeamTokensProps {
  readonly organization: string
  readonly team: v2.Team
}

/** The API tokens of a team. */
export function TeamTokens({ organization, team }: TeamTokensProps) {
  const disabledReason = teamDisabledReason.manageTokens(team)
  const tokens = useApiQuery(['team-tokens', organization, team.id], (api, signal) =>
    api.v2.listTeamTokens({
      params: { organization_name: organization },
      // The API filters by a part of the team name, so other teams may match too.
      query: { q: team.attributes.name, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <QueryView query={tokens} what="the tokens">
      {({ data }) => (
        <AuthTokensPanel
          title="Tokens"
          tokens={data.filter(({ relationships }) => relationships.team?.data.id === team.id)}
          emptyText={
            disabledReason ?? 'No tokens. Create one for a program that acts for the team.'
          }
          disabledReason={disabledReason}
          create={(api, body) => api.v2.createTeamToken({ params: { team_id: team.id }, body })}
        />
      )}
    </QueryView>
  )
}

interface UserTokensProps {
  /** ID of the user. */
  readonly userId: string
  readonly disabledReason: DisabledReason
}

/** The governance tokens of a user. */
export function UserTokens({ userId, disabledReason }: UserTokensProps) {
  const params = { user_id: userId }
  const tokens = useApiQuery(['user-tokens', userId], (api, signal) =>
    api.v2.listUserTokens({ params, signal }),
  )
  return (
    <QueryView query={tokens} what="your tokens">
      {({ data }) => (
        <AuthTokensPanel
          title="Your tokens of the governance API"
          tokens={data}
          emptyText="No tokens. Create one for each machine or script."
          disabledReason={disabledReason}
          create={(api, body) => api.v2.createUserToken({ params, body })}
        />
      )}
    </QueryView>
  )
}
