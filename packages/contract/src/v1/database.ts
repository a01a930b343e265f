import { Type } from 'typebox'
import { routes } from '../route.ts'
import { put } from './define.ts'
import { Named, Index, type Infer } from '../shape.ts'
import { jsonResponse } from './answer.ts'

export const LostCommits = Type.Object(
  {
    FromIndex: Index('Index of the first commit that is missing.'),
    ToIndex: Index('Index of the last one.'),
    Commits: Type.Integer({ description: 'How many are missing.' }),
  },
  { $id: 'LostCommits', description: 'Acknowledged commits that the database does not have.' },
)

export const DatabaseLossResponse = Named('DatabaseLossResponse', {
  Accepted: Type.Array(LostCommits, {
    description: 'Losses that had not been accepted; empty when there was none.',
  }),
})
export type DatabaseLossResponse = Infer<typeof DatabaseLossResponse>

export const databaseRoutes = routes('Operator', {
  acceptDatabaseLoss: put('/operator/database/accept-loss', {
    summary: 'Accept writes again after the database has lost acknowledged commits.',
    audit: 'always',
    returns: jsonResponse(DatabaseLossResponse, 'Writes are accepted; the lost commits stay lost.'),
    errors: { 400: 'The servers share no database.' },
    needs: 'operator:write',
  }),
})
