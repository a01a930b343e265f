import { v2 } from '@reeve/contract'
import {
  createUser,
  deleteUser,
  findVisibleUser,
  isSiteAdministrator,
  listUsers,
  updateAccount,
  type GovernanceCaller,
  type GovernanceContext,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { NOT_FOUND } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  resourceDocument,
  pageDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { accountResource, adminUserResource, userResource } from './resources/user.ts'

const { v2Routes } = v2

/** Returns the routes for ping, the current account, and the users of the installation. */
export function accountEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const authorizeAdministrator = ({ caller }: { readonly caller: GovernanceCaller }) =>
    isSiteAdministrator(caller) ? ok(true) : err(NOT_FOUND)
  return [
    endpoint(v2Routes.ping, () => NO_CONTENT, { isPublic: true }),
    endpoint(v2Routes.readAccount, ({ caller }) =>
      resourceDocument(accountResource(context, caller)),
    ),
    endpoint(
      v2Routes.updateAccount,
      async ({ caller, body }) =>
        mapResult(await updateAccount(context, caller, body.data.attributes), () =>
          resourceDocument(accountResource(context, caller)),
        ),
      { authorize: ({ caller }) => (caller.kind === 'user' ? ok(true) : err(NOT_FOUND)) },
    ),
    endpoint(v2Routes.readUser, ({ caller, params }) =>
      mapResult(findVisibleUser(context, caller, params.user_id), (user) =>
        resourceDocument(userResource(user)),
      ),
    ),
    endpoint(v2Routes.listUsers, (request) =>
      mapResult(
        listUsers(context, request.caller, {
          part: request.query.q,
          ...offsetAndLimit(request.page),
        }),
        ({ keys, total }) => {
          const { users } = context.store.tables
          return pageDocument(request, {
            items: keys.map((id) => adminUserResource(users.get(id))),
            total,
          })
        },
      ),
    ),
    endpoint(
      v2Routes.createUser,
      async ({ caller, body }) =>
        mapResult(await createUser(context, caller, body.data.attributes), (user) =>
          createdDocument(adminUserResource(user)),
        ),
      { authorize: authorizeAdministrator },
    ),
    endpoint(v2Routes.deleteUser, async ({ caller, params }) =>
      mapResult(await deleteUser(context, caller, params.user_id), () => NO_CONTENT),
    ),
  ]
}
